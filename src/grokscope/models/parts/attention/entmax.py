"""α-entmax attention with α = 1.5 (Peters, Niculae and Martins 2019): sparse, between softmax and sparsemax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from .base import TINY, Attention, attentions

if TYPE_CHECKING:
    from torch import Tensor


@attentions.register("entmax")
@dataclass(frozen=True, kw_only=True)
class Entmax(Attention):
    """α_j = [ℓ_j/2 − τ]₊², with the threshold τ at which it sums to 1: tokens far below the best get exactly 0."""

    examplewise: ClassVar[bool] = True

    def normalise(self, logits: Tensor, hidden: Tensor | None) -> tuple[Tensor, Tensor]:
        if hidden is not None:
            logits = logits.masked_fill(hidden, -1e9)
        halves = (logits - logits.amax(-1, keepdim=True)) / 2
        attention = torch.relu(halves - _threshold(halves)).square()
        attention = attention / attention.sum(-1, keepdim=True)  # rounding
        return attention.clamp_min(TINY).log(), attention


def _threshold(halves: Tensor) -> Tensor:
    """τ, by sorting: with the k largest in the support, τ_k = mean − √((1 − Σ (z − mean)²) / k); the true k is the largest with
    τ_k ≤ z_k. The largest entry is 0."""
    ordered = halves.sort(-1, descending=True).values.clamp_min(-2.0)  # entries below −1 are never in the support
    count = torch.arange(1, halves.shape[-1] + 1, device=halves.device, dtype=halves.dtype)
    mean = ordered.cumsum(-1) / count
    spread = (ordered.square().cumsum(-1) / count - mean.square()).clamp_min(0.0) * count
    # where the root vanishes its slope is infinite: no gradient passes there
    inside = (1 - spread) / count
    tau = mean - torch.where(inside > 0, inside.clamp_min(1e-12).sqrt(), torch.zeros_like(inside))
    size = (tau <= ordered).sum(-1, keepdim=True)
    # where a run has diverged nothing is in the support; a wrong index on a GPU would end every run beside it
    return tau.gather(-1, size.clamp_min(1) - 1)
