"""Base class of schedules: the epochs at which candidates are compared, and which of them go on.

Early comparisons mislead: with a learning rate of 0.01 the true support is near the last at epoch 25 and first from 50–100 on. The
first rung is therefore late, later where learning is slower, and nobody is dropped before somebody leads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.stats import norm

from ...registry import Registry
from ...settings import Settings, require
from ..candidates import Standing, ranked

if TYPE_CHECKING:
    from ...config import RunConfig

schedules: Registry[type[Schedule]] = Registry("schedule", "grokscope.searching.schedules")

LEADING = 0.01
"""Probability that a leader is seen among candidates that know nothing, at one rung."""
NEGLIGIBLE = 1e-4
"""Differences of loss that rounding can make."""


@dataclass(frozen=True, kw_only=True)
class Schedule(Settings):
    """Base of all schedules."""

    first: int = 0
    """Epoch of the first rung, to which every candidate is trained; 0 means 0.75/lr, e.g. 75 for a learning rate of 0.01."""

    def check(self) -> None:
        require(self.first >= 0, "first", f"{self.first} is below 0")

    def first_rung(self, config: RunConfig) -> int:
        return self.first or math.ceil(0.75 / config.optim.lr)

    def rungs(self, first: int) -> Iterator[int]:
        """The epochs of the later rungs, without end."""
        raise NotImplementedError

    def survivors(self, standings: Sequence[Standing], chance: float) -> list[Standing]:
        """Those that go on, the best first. All do while nobody leads.

        chance   loss of a network that knows nothing
        """
        rivals = ranked(standings)
        return self.chosen(rivals) if len(rivals) > 1 and leads(rivals, chance) else rivals

    def chosen(self, rivals: Sequence[Standing]) -> list[Standing]:
        """Those of at least two candidates, the best first, that go on; at least one."""
        raise NotImplementedError


def leads(rivals: Sequence[Standing], chance: float) -> bool:
    """Whether the loss of the best is below chance by more than z standard errors, z by Bonferroni over the candidates."""
    z = float(norm.isf(LEADING / len(rivals)))
    return chance - rivals[0].loss > max(z * rivals[0].error, NEGLIGIBLE)
