"""Loss and accuracy on validation examples.

The plain loss punishes a network for being sure: while it memorises, the loss of one that generalises in part exceeds that of one
that knows nothing. The calibrated loss is the least that its answers allow: logits are divided by the best temperature (Guo et al.
2017), and the probabilities mixed with the best share of uniform ones. It is never above log(classes), the loss of a network that
knows nothing, and falls below it as soon as the answers hold information.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from .base import Side

if TYPE_CHECKING:
    from torch import Tensor

TEMPERATURES = tuple(2.0**power for power in range(10))
SHARES = (0.0, 0.01, 0.02, 0.05, *(tenths / 10 for tenths in range(1, 10)), 0.95, 0.98, 1.0)
"""Shares of uniform probabilities that are tried."""


def on_validation(side: Side) -> dict[str, Tensor]:
    """val_loss, val_accuracy; and where answers are classes val_calibrated_loss, with the standard error of its mean."""
    found = {"val_loss": side.loss.mean(), "val_accuracy": side.accuracy}
    if side.labels.is_floating_point():
        return found
    each = calibrated_losses(side.logits, side.labels)
    error = each.std(correction=0) / max(each.shape[0] - 1, 1) ** 0.5
    return found | {"val_calibrated_loss": each.mean(), "val_calibrated_error": error}


def calibrated_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """The loss of each answer [example] at the temperature τ and share s with the least mean.

    −log((1 − s) · softmax(logits/τ)_label + s / classes)
    """
    logits = logits.float()
    temperatures, shares = (_numbers(values, logits.device) for values in (TEMPERATURES, SHARES))
    tempered = torch.log_softmax(logits / temperatures[:, None, None], -1)
    chosen = tempered.gather(-1, labels[None, :, None].expand(len(temperatures), -1, 1)).squeeze(-1).exp()
    s = shares[:, None, None]
    losses = -torch.log((1 - s) * chosen + s / logits.shape[-1]).flatten(0, 1)
    best = losses.mean(-1).argmin(0)
    return losses.gather(0, best.view(1, 1).expand(1, losses.shape[-1]))[0]


def _numbers(values: Sequence[float], device: torch.device) -> Tensor:
    """Made on the device itself: nothing can be copied to a GPU while a graph is recorded."""
    return torch.stack([torch.full((), value, device=device) for value in values])
