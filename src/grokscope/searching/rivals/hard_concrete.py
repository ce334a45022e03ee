"""L0 regularisation with hard-concrete gates (Louizos, Welling and Kingma 2018) on positions."""

from __future__ import annotations

from dataclasses import dataclass

from ...models.parts.attention.hard_concrete import HardConcrete
from .base import Bout, Outcome, Rival, rivals
from .gates import STRENGTHS, compete_gated


@rivals.register("hard-concrete")
@dataclass(frozen=True, kw_only=True)
class Concrete(Rival):
    """Runs without a prior whose attention has hard-concrete gates (`model.attention = "hard-concrete"`)."""

    strengths: tuple[float, ...] = STRENGTHS
    rate: float = 0.05
    """Learning rate of the gates."""

    def compete(self, bout: Bout) -> Outcome:
        return compete_gated(bout, [HardConcrete(strength=strength, rate=self.rate) for strength in self.strengths])
