"""Losses of each example. Plain functions of logits and labels; the fleet takes the mean over examples.

All are built from operations that are smooth enough to be differentiated twice and that vmap knows.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from ..registry import Registry
from ..shapes import Float, Int, checked

Loss = Callable[[Tensor, Tensor], Tensor]

losses: Registry[Loss] = Registry("loss", "grokscope.optim")


@losses.register("cross_entropy")
@checked
def cross_entropy(
    logits: Float[Tensor, "... example class"], labels: Int[Tensor, "... example"]
) -> Float[Tensor, "... example"]:
    """−log softmax(x)_y, as torch.nn.functional.cross_entropy without its mean."""
    return -F.log_softmax(logits, dim=-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)


@losses.register("mse")
@checked
def mse(
    logits: Float[Tensor, "... example class"], labels: Int[Tensor, "... example"] | Float[Tensor, "... example"]
) -> Float[Tensor, "... example"]:
    """Mean over the classes of (x_j − [j = y])²: the distance to the one-hot target, with no factor ½. Where the label
    is a real number, (x − y)² of the one output.

    That is torch.nn.MSELoss on one-hot targets, as in Omnigrok (Liu et al. 2023) and the works after it.
    """
    if labels.is_floating_point():
        return (logits.squeeze(-1) - labels).square()
    return (logits - _is_label(logits, labels).to(logits.dtype)).square().mean(-1)


@losses.register("stablemax")
@checked
def stablemax(
    logits: Float[Tensor, "... example class"], labels: Int[Tensor, "... example"]
) -> Float[Tensor, "... example"]:
    """StableMax cross-entropy (Prieto et al. 2025): −log(s(x_y) / Σ_j s(x_j)), s(x) = x + 1 for x ≥ 0, 1/(1 − x) below.

    Since s grows linearly, the other classes do not vanish next to the correct one. The authors compute it in float64; here it
    is log(1 + Σ_{j≠y} s(x_j) / s(x_y)), which keeps its digits near zero in float32 too.
    """
    # The clamp keeps the branch that is not taken finite: 1/(1 − x) has a pole at 1, and 0 · inf in its gradient is NaN.
    s = torch.where(logits >= 0, logits + 1, 1 / (1 - logits.clamp(max=0)))
    others = s.masked_fill(_is_label(logits, labels), 0).sum(-1)
    return torch.log1p(others / s.gather(-1, labels.unsqueeze(-1)).squeeze(-1))


def _is_label(logits: Float[Tensor, "... example class"], labels: Int[Tensor, "... example"]) -> Tensor:
    """One-hot labels as booleans."""
    return labels.unsqueeze(-1) == torch.arange(logits.shape[-1], device=logits.device)
