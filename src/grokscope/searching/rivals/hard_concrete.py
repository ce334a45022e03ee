"""L0 regularisation with hard-concrete gates (Louizos, Welling and Kingma 2018) on positions."""

from __future__ import annotations

from dataclasses import dataclass

from ...models.parts.attention.hard_concrete import HardConcrete
from .base import rivals
from .gates import GatedRival


@rivals.register("hard-concrete")
@dataclass(frozen=True, kw_only=True)
class Concrete(GatedRival):
    """Runs without a prior whose attention has hard-concrete gates (`model.attention = "hard-concrete"`)."""

    rate: float = 0.05
    """Learning rate of the gates."""

    def attention(self, strength: float) -> HardConcrete:
        return HardConcrete(strength=strength, rate=self.rate)
