"""Racing (Maron and Moore 1994): a candidate is dropped once it is worse than the best beyond what chance explains.

The bound is on the sampling of validation examples alone. It does not know that curves may cross later, so the first rung is as
late as that of any schedule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scipy.stats import norm

from ...settings import require
from ..candidates import Standing
from .base import Schedule, schedules


@schedules.register("racing")
@dataclass(frozen=True, kw_only=True)
class Racing(Schedule):
    """Drop those whose loss exceeds the best by more than z standard errors of the difference, z by Bonferroni over candidates."""

    every: int = 25
    """Epochs between two rungs."""
    level: float = 0.01
    """Probability that the better of two is dropped at one rung, over all candidates."""

    def check(self) -> None:
        super().check()
        require(self.every >= 1, "every", f"{self.every} is below 1")
        require(0 < self.level < 1, "level", f"{self.level:g} is outside (0, 1)")

    def rungs(self, first: int) -> Iterator[int]:
        epoch = first
        while True:
            epoch += self.every
            yield epoch

    def chosen(self, rivals: Sequence[Standing]) -> list[Standing]:
        best = rivals[0]
        z = float(norm.isf(self.level / (len(rivals) - 1)))
        return [one for one in rivals if one.loss - best.loss <= z * math.hypot(one.error, best.error)]
