"""Stochastic gates (Yamada et al. 2020) on positions."""

from __future__ import annotations

from dataclasses import dataclass

from ...models.parts.attention.stg import StochasticGates
from .base import rivals
from .gates import GatedRival


@rivals.register("stg")
@dataclass(frozen=True, kw_only=True)
class Stochastic(GatedRival):
    """Runs without a prior whose attention has Gaussian gates (`model.attention = "stg"`)."""

    sigma: float = 0.5
    """Standard deviation σ of the noise on a gate."""
    rate: float = 0.01
    """Learning rate of the gates."""

    def attention(self, strength: float) -> StochasticGates:
        return StochasticGates(sigma=self.sigma, strength=strength, rate=self.rate)
