"""Stochastic gates (Yamada et al. 2020) on positions."""

from __future__ import annotations

from dataclasses import dataclass

from ...models.parts.attention.stg import StochasticGates
from .base import Bout, Outcome, Rival, rivals
from .gates import compete_gated


@rivals.register("stg")
@dataclass(frozen=True, kw_only=True)
class Stochastic(Rival):
    """One run without a prior whose attention has Gaussian gates (`model.attention = "stg"`)."""

    sigma: float = 0.5
    """Standard deviation σ of the noise on a gate."""
    strength: float = 0.1
    """Strength λ of the penalty on open gates."""
    rate: float = 0.01
    """Learning rate of the gates."""

    def compete(self, bout: Bout) -> Outcome:
        return compete_gated(bout, StochasticGates(sigma=self.sigma, strength=self.strength, rate=self.rate))
