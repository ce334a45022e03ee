"""Successive halving (Jamieson and Talwalkar 2016): at every rung the best part goes on, for longer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...settings import require
from ..candidates import Standing
from .base import Schedule, schedules


@schedules.register("halving")
@dataclass(frozen=True, kw_only=True)
class Halving(Schedule):
    """The best 1/`factor` of the candidates go on to a rung that is `growth` times later."""

    factor: float = 4.0
    """How many candidates there are for each that goes on."""
    growth: float = 1.5
    """Ratio of the epochs of two rungs."""

    def check(self) -> None:
        super().check()
        require(self.factor > 1, "factor", f"{self.factor:g} is not above 1")
        require(self.growth > 1, "growth", f"{self.growth:g} is not above 1")

    def rungs(self, first: int) -> Iterator[int]:
        epoch = first
        while True:
            epoch = math.ceil(epoch * self.growth)
            yield epoch

    def chosen(self, rivals: Sequence[Standing]) -> list[Standing]:
        return list(rivals[: max(1, int(len(rivals) / self.factor))])
