"""Rules about numbers of each run: differences, correlations, ranges and power laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from ...analysis.correlation import rank_correlation
from ...analysis.location import mean_interval, mean_tails, median_interval, median_tails
from ...analysis.pairs import hodges_lehmann, sign_flip, signed_ranks
from ...analysis.powerlaw import fit_power_law
from .. import power
from ..base import Case, Effect
from ..clocks import FIRST_99, Clock, NotRunError, common_seeds, times
from ..columns import values, why_missing
from ..effects import AT_THE_EDGE
from ..settle import ALPHA, FEWEST, Rule, too_few

if TYPE_CHECKING:
    from ...store.results import Results


@dataclass(frozen=True)
class Greater(Rule):
    """`column` is greater in `arm` than in `other` by more than `margin`, paired by seed (Wilcoxon's signed ranks, sign-flip
    permutation). Disagrees if it is less. Seeds without a value in one of the arms do not count."""

    column: str
    arm: str
    other: str
    margin: float = 0.0

    def cases(self, results: Results) -> list[Case]:
        named = results.runs.assign(value=values(results, self.column))
        one, two = (own["value"].to_numpy() for own in common_seeds(named, (self.arm, self.other)))
        known = np.isfinite(one) & np.isfinite(two)
        one, two = one[known], two[known]
        up = sign_flip(signed_ranks(one - two - self.margin))
        down = sign_flip(signed_ranks(two - one + self.margin))
        p_for, p_against = (down, up) if isinstance(self, Less) else (up, down)
        means = (
            f"{arm}: median {np.median(x):.3g} ({x.min():.3g}–{x.max():.3g})"
            for arm, x in ((self.arm, one), (self.other, two))
            if len(x)
        )
        found = Case(
            p_for=float(p_for),
            p_against=float(p_against),
            effects=(Effect(f"difference in {self.column}", *hodges_lehmann(one - two)),),
            measured=" · ".join(means),
            test="Wilcoxon signed ranks, paired sign-flip permutation",
            seeds=len(one),
            blocked=too_few(len(one)),
            simulated=power.of_difference(len(one)) if len(one) else None,
        )
        return [found]


@dataclass(frozen=True)
class Less(Greater):
    """`column` is less in `arm` than in `other`; with a `margin`, arm − other lies below it."""


@dataclass(frozen=True)
class Correlated(Rule):
    """Spearman's ρ of two columns (or clocks: runs that never reached come last) has the given sign: the interval, by bootstrap
    over clusters, lies on that side of 0. Disagrees on the other side.

    arms      all of them, or some
    cluster   column of what is independent: run, or seed where the arms share seeds
    table     runs, or the name of a probe
    """

    column: str | Clock
    other: str | Clock
    sign: Literal[1, -1] = 1
    arms: Sequence[str] | None = None
    cluster: str = "run"
    table: str = "runs"

    def cases(self, results: Results) -> list[Case]:
        rows = results.runs if self.table == "runs" else results.probes.get(self.table)
        if rows is None:
            raise NotRunError(f"probe {self.table}")
        chosen = rows["arm"].isin(self.arms) if self.arms is not None else pd.Series(True, rows.index)
        if not chosen.any():
            raise NotRunError(", ".join(self.arms or ()))
        x, y = (values(results, own, self.table)[chosen] for own in (self.column, self.other))
        found = rank_correlation(x, y, list(rows.loc[chosen, self.cluster]))
        p_for, p_against = (found.p_above, found.p_below)[:: self.sign]
        name = f"Spearman's ρ of {self.column} and {self.other}"
        return [
            Case(
                p_for=p_for,
                p_against=p_against,
                effects=(Effect(name, found.rho, found.low, found.high),),
                measured=f"{found.points} points in {found.runs} clusters",
                test=f"bootstrap of Spearman's ρ over clusters ({self.cluster})",
                seeds=found.runs,
                blocked=too_few(found.runs, 10) or ("one side does not vary" if np.isnan(found.rho) else ""),
                simulated=power.of_correlation(found.runs) if found.runs > 2 else None,
            )
        ]


@dataclass(frozen=True)
class WithinRange(Rule):
    """A published number is met: the interval of the mean of `column` lies within low … high (two one-sided t tests), or on a clock
    that of the median (sign tests; runs that never reached count as above). Disagrees if it lies outside."""

    column: str | Clock
    arm: str
    low: float
    high: float

    def cases(self, results: Results) -> list[Case]:
        there = results.runs["arm"] == self.arm
        if not there.any():
            raise NotRunError(self.arm)
        own = values(results, self.column)[there].dropna().to_numpy()
        clock = isinstance(self.column, Clock)
        test = "two one-sided " + ("sign tests of the median" if clock else "t tests of the mean")
        if not len(own):
            return [Case(verdict="not tested", measured=why_missing(results, str(self.column), self.arm), test=test)]
        tails, interval = (median_tails, median_interval) if clock else (mean_tails, mean_interval)
        (p_above_low, p_below_low), (p_above_high, p_below_high) = (tails(own, end) for end in (self.low, self.high))
        return [
            Case(
                p_for=max(p_above_low, p_below_high),
                p_against=min(1.0, 2 * min(p_below_low, p_above_high)),
                effects=(Effect(f"{'median' if clock else 'mean'} of {self.column}", *interval(own)),),
                measured=f"{self.arm}: asked {self.low:g} to {self.high:g}",
                asked=(self.low, self.high),
                test=test,
                seeds=len(own),
                blocked=too_few(len(own)),
                simulated=power.of_median(len(own))
                if clock
                else power.of_range(len(own), power.in_deviations(own, (self.high - self.low) / 2)),
            )
        ]


@dataclass(frozen=True)
class PowerLaw(Rule):
    """Times follow floor + c·x^−exponent over the arms: the interval of a free exponent lies within exponent·(1 ± tolerance).
    Disagrees if it lies outside, or if the law misses the means of the arms (lack of fit p < 2.5 % and a relative deviation above
    `misfit`). Arms with a run that never reached are left out; fewer than four do not decide. A negative exponent is growth."""

    x: str
    arms: Sequence[str]
    exponent: float = 1.0
    tolerance: float = 0.25
    misfit: float = 0.1
    clock: Clock = FIRST_99

    def cases(self, results: Results) -> list[Case]:
        there = [arm for arm in self.arms if (results.runs["arm"] == arm).any()]
        if not there:
            raise NotRunError(self.x)
        whole = [arm for arm in there if times(results.runs, arm, self.clock).grokked.all()]
        cut = ", ".join(arm for arm in there if arm not in whole)
        left_out = f"left out, since runs never reached: {cut}" if cut else ""
        test = f"weighted least squares over arm means, bootstrap over seeds, lack of fit against the saturated model, {self.clock}"
        if len(whole) < 4:
            return [Case(test=test, blocked=f"{len(whole)} levels of {self.x} are fewer than 4", measured=left_out)]
        tables = common_seeds(results.runs, whole)
        level = np.array([float(pd.to_numeric(own[self.x]).iloc[0]) for own in tables])
        t = np.stack([self.clock.sample(own).time for own in tables], axis=1)
        if len(t) < FEWEST:
            return [Case(test=test, seeds=len(t), blocked=too_few(len(t)), measured=left_out)]
        fit = fit_power_law(level, t, self.exponent, self.tolerance)
        misses = fit.lack_of_fit / 2 if fit.misfit > self.misfit else 1.0
        described = f"{fit.describe(self.x, self.exponent)}, {len(whole)} levels"
        name = f"exponent{AT_THE_EDGE}" if fit.at_edge else "exponent"
        spread = power.spread_of(np.log(t[:, 0]) - np.log(t[:, -1]))
        floor = power.floor_of(fit.floor, fit.slope, self.exponent, level)
        low, high = sorted(self.exponent * (1 + sign * self.tolerance) for sign in (-1, 1))
        return [
            Case(
                p_for=max(fit.p_below, fit.p_above, 1.0 if misses < ALPHA / 2 else 0.0),
                p_against=min(1.0, 2 * min(fit.p_outside, misses)),
                effects=(Effect(name, fit.exponent, fit.low, fit.high),),
                asked=(low, high),
                measured=f"{described}; {left_out}" if left_out else described,
                test=test,
                seeds=len(t),
                numbers=fit._asdict(),
                simulated=power.of_law(
                    len(t), tuple(level.tolist()), spread, self.exponent, self.tolerance, floor, self.misfit
                ),
            )
        ]
