"""L0 regularisation with hard-concrete gates (Louizos, Welling and Kingma 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from .base import Bout, Outcome, Rival, rivals
from .gated import train_gated

LOW, HIGH, TEMPERATURE = -0.1, 1.1, 2 / 3
"""γ, ζ and β of the paper."""


@rivals.register("hard-concrete")
@dataclass(frozen=True, kw_only=True)
class HardConcrete(Rival):
    """One run with gates that are exactly 0 or 1 with positive probability; the penalty is λ times their expected L0 norm."""

    strength: float = 0.1
    """λ"""
    rate: float = 0.05
    """Learning rate of log α."""

    def compete(self, bout: Bout) -> Outcome:
        def stretched(s: torch.Tensor) -> torch.Tensor:
            return (s * (HIGH - LOW) + LOW).clamp(0, 1)

        def draw(log_alpha: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
            u = torch.rand(count, len(log_alpha), generator=generator).clamp(1e-6, 1 - 1e-6)
            return stretched(torch.sigmoid((u.logit() + log_alpha) / TEMPERATURE))

        return train_gated(
            "hard-concrete",
            bout,
            start=0.5,
            draw=draw,
            middle=lambda log_alpha: stretched(torch.sigmoid(log_alpha)),
            open_gates=lambda log_alpha: torch.sigmoid(log_alpha - TEMPERATURE * math.log(-LOW / HIGH)).sum(),
            strength=self.strength,
            rate=self.rate,
        )
