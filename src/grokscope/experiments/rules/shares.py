"""Rules about shares of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...analysis.shares import p_share_above, p_share_below, share_interval
from .. import power
from ..base import Case, Effect
from ..clauses import say_share
from ..clocks import FIRST_99, Clock, NotRunError, times
from ..columns import select, values, why_missing
from ..settle import Rule

if TYPE_CHECKING:
    from ...store.results import Results


@dataclass(frozen=True)
class ShareAtLeast(Rule):
    """At least `share` of the runs of `arm` reach the clock's threshold, or have a true `column` (missing values do not apply): the
    exact interval lies above `share`. Disagrees if it lies below."""

    arm: str
    share: float
    clock: Clock = FIRST_99
    column: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(
                f"a share of {self.share:g} cannot be shown by any number of runs; choose one between 0 and 1"
            )

    def cases(self, results: Results) -> list[Case]:
        true, count = self.counted(results)
        if not count:
            return [Case(untested=why_missing(results, self.column, self.arm), test=self._test)]
        low, high = share_interval(true, count)
        above, below = (p(true, count, self.share) for p in (p_share_above, p_share_below))
        most = isinstance(self, ShareAtMost)
        simulated = power.of_share(count, 1 - self.share if most else self.share)
        if simulated and most:
            simulated = simulated._replace(at=f"a share of {50 * self.share:.0f} %")
        return [
            Case(
                p_for=below if most else above,
                p_against=above if most else below,
                least=p_share_above(count, count, 1 - self.share if most else self.share),
                effects=(Effect("share", true / count, low, high, percent=True, of=self.arm),),
                measured=say_share(true, count),
                test=self._test,
                seeds=count,
                simulated=simulated,
            )
        ]

    @property
    def _test(self) -> str:
        return f"exact binomial against {100 * self.share:g} %, {self.column or self.clock}"

    def counted(self, results: Results) -> tuple[int, int]:
        own = results.runs["arm"] == self.arm
        if not own.any():
            raise NotRunError(self.arm)
        if not self.column:
            reached = times(results.runs, self.arm, self.clock).grokked
            return int(reached.sum()), len(reached)
        flags = values(results, self.column)[own].dropna()
        return int((flags > 0).sum()), len(flags)


@dataclass(frozen=True)
class ShareAtMost(ShareAtLeast):
    """At most `share` of the runs do: the exact interval lies below `share`. Disagrees if it lies above."""


@dataclass(frozen=True)
class BestShareAtLeast(Rule):
    """At least `share` of the runs of the best of several arms do. The best arm is chosen on one half of the seeds (most runs that
    do; of two alike the one with more runs that the column applies to), and its share is tested on the other half."""

    arms: Sequence[str]
    share: float
    clock: Clock = FIRST_99
    column: str = ""

    def cases(self, results: Results) -> list[Case]:
        runs = results.runs
        there = [arm for arm in self.arms if (runs["arm"] == arm).any()]
        if not there:
            raise NotRunError(", ".join(self.arms))
        seeds = sorted(runs["seed"].unique())
        tuning, rest = (select(results, runs[runs["seed"].isin(seeds[at::2])]) for at in (0, 1))
        best = max(there, key=lambda arm: self._of(arm).counted(tuning))
        chosen = f"best of {len(there)} on the other {len(seeds[::2])} seeds: {best}"
        cases = self._of(best).cases(rest)
        return [replace(case, measured="; ".join(filter(None, (case.measured, chosen)))) for case in cases]

    def _of(self, arm: str) -> ShareAtLeast:
        return ShareAtLeast(arm, self.share, self.clock, self.column)
