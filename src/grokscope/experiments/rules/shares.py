"""Rules about shares of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...analysis.shares import p_share_above, p_share_below, share_interval
from .. import power
from ..base import Case, Effect
from ..clauses import say_share
from ..clocks import FIRST_99, Clock, NotRunError, times
from ..columns import values, why_missing
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
