"""Linear ReLU attention, the setting of the theory (structural inference, §3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from .base import TINY, Attention, attentions

if TYPE_CHECKING:
    from torch import Tensor


@attentions.register("linear")
@dataclass(frozen=True, kw_only=True)
class Linear(Attention):
    """α_j ∝ relu(ℓ_j); uniform where every logit is negative."""

    examplewise: ClassVar[bool] = True

    def normalise(self, logits: Tensor, hidden: Tensor | None) -> tuple[Tensor, Tensor]:
        positive = torch.relu(logits) + TINY
        if hidden is not None:
            positive = positive.masked_fill(hidden, TINY * TINY)
        attention = positive / positive.sum(-1, keepdim=True)
        return attention.log(), attention

    def sensitivity(self, attention: Tensor, logits: Tensor) -> Tensor:
        """1[ℓ_j > 0] / Σ_i relu(ℓ_i); it may exceed 1."""
        return (logits > 0) / (torch.relu(logits) + TINY).sum(-1, keepdim=True)
