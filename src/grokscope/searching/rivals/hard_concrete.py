"""L0 regularisation with hard-concrete gates (Louizos, Welling and Kingma 2018) on positions."""

from __future__ import annotations

from dataclasses import dataclass

from ...models.parts.attention.hard_concrete import HardConcrete
from .base import Bout, Outcome, Rival, rivals
from .gates import compete_gated


@rivals.register("hard-concrete")
@dataclass(frozen=True, kw_only=True)
class Concrete(Rival):
    """One run without a prior whose attention has hard-concrete gates (`model.attention = "hard-concrete"`)."""

    strength: float = 0.1
    """Strength λ of the penalty on open gates."""
    rate: float = 0.05
    """Learning rate of the gates."""

    def compete(self, bout: Bout) -> Outcome:
        return compete_gated(bout, HardConcrete(strength=self.strength, rate=self.rate))
