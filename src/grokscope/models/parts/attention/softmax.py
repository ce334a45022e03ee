"""Softmax attention (Vaswani et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ....ops.softmax import softmax_and_log
from ....ops.triton import usable_on
from ....settings import require, setting
from .base import Attention, attentions

if TYPE_CHECKING:
    from torch import Tensor


@attentions.register("softmax")
@dataclass(frozen=True, kw_only=True)
class Softmax(Attention):
    """α = softmax(ℓ/τ)."""

    examplewise: ClassVar[bool] = True

    temperature: float = setting(1.0, since=2)
    """Temperature τ; a large value spreads attention evenly."""

    def check(self) -> None:
        require(self.temperature > 0, "temperature", f"{self.temperature} is not above 0")

    def normalise(self, logits: Tensor, hidden: Tensor | None) -> tuple[Tensor, Tensor]:
        if self.temperature != 1:
            logits = logits / self.temperature
        if hidden is not None:
            logits = logits.masked_fill(hidden, -1e9)
        if usable_on(logits.device):
            return softmax_and_log(logits)
        if logits.is_cuda:
            log_attention = torch.log_softmax(logits, -1)
        else:  # over a short last axis a CPU is six times slower than over one before the examples
            log_attention = torch.log_softmax(logits.movedim(-1, -3), -3).movedim(-3, -1)
        return log_attention, log_attention.exp()

    def sensitivity(self, attention: Tensor, logits: Tensor) -> Tensor:
        """∂α_i/∂ℓ_j = α_i (δ_ij − α_j)/τ."""
        return attention if self.temperature == 1 else attention / self.temperature
