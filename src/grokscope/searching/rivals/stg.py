"""Stochastic gates (Yamada et al. 2020): z = clamp(μ + σ ε, 0, 1) with Gaussian ε."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .base import Bout, Outcome, Rival, rivals
from .gated import train_gated


@rivals.register("stg")
@dataclass(frozen=True, kw_only=True)
class StochasticGates(Rival):
    """One run with Gaussian gates on positions; the penalty is λ Σ_j Φ(μ_j/σ)."""

    sigma: float = 0.5
    strength: float = 0.1
    """λ"""
    rate: float = 0.01
    """Learning rate of μ."""

    def compete(self, bout: Bout) -> Outcome:
        def draw(mu: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
            return (mu + self.sigma * torch.randn(count, len(mu), generator=generator)).clamp(0, 1)

        return train_gated(
            "stg",
            bout,
            start=0.5,
            draw=draw,
            middle=lambda mu: mu.clamp(0, 1),
            open_gates=lambda mu: torch.special.ndtr(mu / self.sigma).sum(),
            strength=self.strength,
            rate=self.rate,
        )
