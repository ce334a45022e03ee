"""Stochastic gates (Yamada et al. 2020) on positions."""

from __future__ import annotations

from dataclasses import dataclass

from ...models.parts.attention.stg import StochasticGates
from .base import Bout, Outcome, Rival, rivals
from .gates import STRENGTHS, compete_gated


@rivals.register("stg")
@dataclass(frozen=True, kw_only=True)
class Stochastic(Rival):
    """Runs without a prior whose attention has Gaussian gates (`model.attention = "stg"`)."""

    sigma: float = 0.5
    """Standard deviation σ of the noise on a gate."""
    strengths: tuple[float, ...] = STRENGTHS
    rate: float = 0.01
    """Learning rate of the gates."""

    def compete(self, bout: Bout) -> Outcome:
        kinds = [StochasticGates(sigma=self.sigma, strength=strength, rate=self.rate) for strength in self.strengths]
        return compete_gated(bout, kinds)
