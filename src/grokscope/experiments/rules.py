"""The rules: each turns results into a verdict on a claim, is written once, and is data (its fields are hashed).

A rule finds cases, one per regime or comparison. A case has effects with 95 % intervals and two one-sided tests, for and against
the claim; it *agrees* or *disagrees* where one of them is below 2.5 % after Holm's correction over the cases of the claim, else it
*cannot be told*. Seeds are paired: run s of one arm and run s of another share their data and their initial weights. Equivalence
is shown by tests against both ends of a range, never by a large p. The statistics are in `grokscope.analysis`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from ..analysis.blocks import p_differ
from ..analysis.correlation import rank_correlation
from ..analysis.location import mean_interval, mean_tails, median_interval, median_tails
from ..analysis.pairs import (
    hodges_lehmann,
    p_later,
    p_ratio_above,
    p_ratio_below,
    p_sooner,
    sign_flip,
    signed_ranks,
    time_ratio,
)
from ..analysis.powerlaw import fit_power_law
from ..analysis.shares import p_share_above, p_share_below, paired_difference, share_interval
from ..analysis.survival import Sample
from . import power
from .base import Case, Effect
from .clauses import median, say, say_share
from .clocks import FIRST_99, Clock, NotRunError, common_seeds, paired, times
from .columns import select, values
from .regimes import REGIMES, in_regime
from .settle import ALPHA as ALPHA
from .settle import Rule as Rule

if TYPE_CHECKING:
    from ..store.results import Results

FEWEST = 6
"""Pairs without which no paired test can reach the level: 2 · 2⁻⁶ < 5 %."""

# ── times of two arms ─────────────────────────────────────────────────────────────────────────────────────────────────


def _two_parts(arm: Sample, other: Sample, clock: Clock) -> tuple[Effect, Effect]:
    """Ratio of times given that both reached, and difference of the shares that reach."""
    ratio = Effect(clock.ratio, *time_ratio(arm, other)[:3])
    only, not_only = int((arm.grokked & ~other.grokked).sum()), int((other.grokked & ~arm.grokked).sum())
    count = len(arm.time)
    ends = paired_difference(only, not_only, count)
    return ratio, Effect("difference of shares that reach", (only - not_only) / max(count, 1), *ends, percent=True)


def _both(arm: Sample, other: Sample) -> float:
    """Spread of the log ratio, for the simulation."""
    both = arm.grokked & other.grokked
    return power.spread_of(np.log(arm.time[both]) - np.log(other.time[both]))


def _ratios(arms: Sequence[str], samples: Sequence[Sample], clock: Clock) -> list[Effect]:
    """Ratios of the times of all arms to those of the first."""
    first, *others = samples
    return [_two_parts(own, first, clock)[0]._replace(of=arm) for arm, own in zip(arms[1:], others, strict=True)]


def _say(results: Results, arms: Iterable[str], clock: Clock) -> str:
    return " · ".join(say(results.runs, arm, clock) for arm in arms)


def p_alike(arm: Sample, other: Sample, slack: float) -> float:
    """p of "the time ratio lies within 1/slack … slack": the larger of two one-sided ones."""
    return float(max(p_ratio_below(arm, other, slack), p_ratio_above(arm, other, 1 / slack)))


def _few(pairs: int, wanted: int = FEWEST) -> str:
    return f"{pairs} seeds are fewer than {wanted}" if pairs < wanted else ""


PAIRED = "paired sign-flip permutation of Prentice–Wilcoxon scores"


@dataclass(frozen=True)
class Sooner(Rule):
    """`arm` reaches sooner than `other`, paired by seed; runs that never reach count as latest. Disagrees if it is later, or
    sooner by less than a factor of `margin`. Cannot be told where share and time point in opposite directions."""

    arm: str
    other: str
    clock: Clock = FIRST_99
    margin: float = 1.1

    def cases(self, results: Results) -> list[Case]:
        arm, other = paired(results.runs, (self.arm, self.other), self.clock)
        ratio, share = _two_parts(arm, other, self.clock)
        p_for, p_against = float(p_sooner(arm, other)), float(p_later(arm, other, self.margin))
        sooner = p_for <= p_against
        split = (share.high < 0 or ratio.low > 1) if sooner else (share.low > 0 or ratio.high < 1 / self.margin)
        found = Case(
            p_for=p_for,
            p_against=p_against,
            effects=(ratio, share),
            measured=_say(results, (self.arm, self.other), self.clock),
            test=f"{PAIRED}, {self.clock}",
            seeds=len(arm.time),
            blocked=_few(len(arm.time)) or ("share and time point in opposite directions" if split else ""),
            simulated=power.of_ratio(len(arm.time), _both(arm, other), 1.0, None, 1.0, 1 / 1.5),
        )
        return [found]


@dataclass(frozen=True)
class NoLater(Rule):
    """`arm` takes at most `slack` times as long as `other`: the interval of the ratio ends below it. Disagrees if it lies above."""

    arm: str
    other: str
    slack: float = 1.25
    clock: Clock = FIRST_99

    def cases(self, results: Results) -> list[Case]:
        arm, other = paired(results.runs, (self.arm, self.other), self.clock)
        found = Case(
            p_for=float(p_ratio_below(arm, other, self.slack)),
            p_against=float(p_later(arm, other, 1 / self.slack)),
            effects=_two_parts(arm, other, self.clock),
            measured=_say(results, (self.arm, self.other), self.clock),
            test=f"{PAIRED} against a ratio of {self.slack:g}, {self.clock}",
            seeds=len(arm.time),
            blocked=_few(len(arm.time)),
            simulated=power.of_ratio(len(arm.time), _both(arm, other), self.slack, None, self.slack, 1.0),
        )
        return [found]


@dataclass(frozen=True)
class Alike(Rule):
    """All arms take as long as the first, within a factor of `slack` (two one-sided tests each). Disagrees if one lies outside."""

    arms: Sequence[str]
    slack: float = 1.5
    clock: Clock = FIRST_99

    def cases(self, results: Results) -> list[Case]:
        first, *others = paired(results.runs, self.arms, self.clock)
        within = [p_alike(own, first, self.slack) for own in others]
        outside = [
            min(float(p_later(own, first, 1 / self.slack)), float(p_sooner(own, first, self.slack))) for own in others
        ]
        spread = max(_both(own, first) for own in others)
        found = Case(
            p_for=max(within),
            p_against=min(1.0, 2 * len(others) * min(outside)),
            effects=_ratios(self.arms, (first, *others), self.clock),
            measured=_say(results, self.arms, self.clock),
            test=f"two one-sided tests, {PAIRED}, ratios within {1 / self.slack:.2g} to {self.slack:g}, {self.clock}",
            seeds=len(first.time),
            blocked=_few(len(first.time)),
            simulated=power.of_ratio(len(first.time), spread, self.slack, 1 / self.slack, self.slack, 1.0),
        )
        return [found]


@dataclass(frozen=True)
class Differ(Rule):
    """The arms do not all take equally long: permutation of the arms within each seed. Disagrees if every two are alike within
    `slack`."""

    arms: Sequence[str]
    clock: Clock = FIRST_99
    slack: float = 1.25

    def cases(self, results: Results) -> list[Case]:
        own = paired(results.runs, self.arms, self.clock)
        pairs = [(one, two) for at, one in enumerate(own) for two in own[:at]]
        seeds = len(own[0].time)
        found = Case(
            p_for=p_differ(own) / 2,
            p_against=max(p_alike(one, two, self.slack) for one, two in pairs),
            effects=_ratios(self.arms, own, self.clock),
            measured=_say(results, self.arms, self.clock),
            test=f"permutation of Prentice–Wilcoxon scores within seeds, {self.clock}",
            seeds=seeds,
            blocked=_few(seeds, 4),
            simulated=power.of_several(seeds, len(own), max(_both(one, own[0]) for one in own[1:])),
        )
        return [found]


@dataclass(frozen=True)
class Fastest(Rule):
    """The best arm of `family` is sooner than the best of every other family; disagrees if one of those is sooner, or later by
    less than a factor of `margin`. The best arms are chosen on one half of the seeds (by their medians) and compared on the other;
    families of one arm each need no choice, and all seeds compare them."""

    family: str
    families: Mapping[str, Sequence[str]]
    clock: Clock = FIRST_99
    margin: float = 1.1

    def cases(self, results: Results) -> list[Case]:
        runs = results.runs
        there = {
            name: own for name, arms in self.families.items() if (own := [a for a in arms if (runs["arm"] == a).any()])
        }
        if self.family not in there or len(there) < 2:
            raise NotRunError(self.family)
        choose = any(len(arms) > 1 for arms in there.values())
        seeds = sorted(runs["seed"].unique())
        tuning, rest = (runs[runs["seed"].isin(seeds[at::2])] if choose else runs for at in (0, 1))
        best = {name: min(arms, key=lambda arm: median(times(tuning, arm, self.clock))) for name, arms in there.items()}
        compared = select(results, rest)
        rivals = {name: arm for name, arm in best.items() if name != self.family}
        rules = [Sooner(best[self.family], arm, self.clock, self.margin) for arm in rivals.values()]
        cases = [case for rule in rules for case in rule.cases(compared)]
        ratios = [
            case.effects[0]._replace(name=f"{self.clock.ratio} to {name}", of="" if arm == name else arm)
            for (name, arm), case in zip(rivals.items(), cases, strict=True)
        ]
        found = replace(
            cases[0],
            p_for=max(case.p_for for case in cases),  # it has to be sooner than each of them
            p_against=min(1.0, len(cases) * min(case.p_against for case in cases)),
            effects=ratios,
            measured=_say(compared, best.values(), self.clock),
            seeds=min(case.seeds for case in cases),
            blocked=next((case.blocked for case in cases if case.blocked), ""),
        )
        return [found]


# ── shares of runs ────────────────────────────────────────────────────────────────────────────────────────────────────


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
        value, (low, high) = true / count if count else np.nan, share_interval(true, count)
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
                effects=(Effect("share", value, low, high, percent=True, of=self.arm),),
                measured=say_share(true, count),
                test=f"exact binomial against {100 * self.share:g} %, {self.column or self.clock}",
                seeds=count,
                simulated=simulated,
            )
        ]

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


# ── numbers of each run ───────────────────────────────────────────────────────────────────────────────────────────────


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
            blocked=_few(len(one)),
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
                blocked=_few(found.runs, 10) or ("one side does not vary" if np.isnan(found.rho) else ""),
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
        own = values(results, self.column)[results.runs["arm"] == self.arm].dropna().to_numpy()
        if not len(own):
            raise NotRunError(self.arm)
        clock = isinstance(self.column, Clock)
        tails, interval = (median_tails, median_interval) if clock else (mean_tails, mean_interval)
        (p_above_low, p_below_low), (p_above_high, p_below_high) = (tails(own, end) for end in (self.low, self.high))
        return [
            Case(
                p_for=max(p_above_low, p_below_high),
                p_against=min(1.0, 2 * min(p_below_low, p_above_high)),
                effects=(Effect(f"{'median' if clock else 'mean'} of {self.column}", *interval(own)),),
                measured=f"{self.arm}: asked {self.low:g} to {self.high:g}",
                asked=(self.low, self.high),
                test="two one-sided " + ("sign tests of the median" if clock else "t tests of the mean"),
                seeds=len(own),
                blocked=_few(len(own)),
                simulated=power.of_range(len(own), power.in_deviations(own, (self.high - self.low) / 2)),
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
            return [Case(test=test, seeds=len(t), blocked=_few(len(t)), measured=left_out)]
        fit = fit_power_law(level, t, self.exponent, self.tolerance)
        misses = fit.lack_of_fit / 2 if fit.misfit > self.misfit else 1.0
        described = f"{fit.describe(self.x, self.exponent)}, {len(whole)} levels"
        spread = power.spread_of(np.log(t[:, 0]) - np.log(t[:, -1]))
        return [
            Case(
                p_for=max(fit.p_below, fit.p_above, 1.0 if misses < ALPHA / 2 else 0.0),
                p_against=min(1.0, 2 * min(fit.p_outside, misses)),
                effects=(Effect("exponent", fit.exponent, fit.low, fit.high),),
                measured=f"{described}; {left_out}" if left_out else described,
                test=test,
                seeds=len(t),
                numbers=fit._asdict(),
                simulated=power.of_law(len(t), tuple(level.tolist()), spread, self.exponent, self.tolerance),
            )
        ]


# ── rules made of rules ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Custom(Rule):
    """Where no other rule fits: `judge` gives the cases. It needs positive and negative controls of its own in the tests."""

    name: str
    judge: Callable[[Results], Case | Sequence[Case]]

    def cases(self, results: Results) -> list[Case]:
        found = self.judge(results)
        return [found] if isinstance(found, Case) else list(found)


@dataclass(frozen=True)
class NotTested(Rule):
    """No run decides it, and why."""

    why: str

    def cases(self, results: Results) -> list[Case]:
        return [Case(verdict="not tested", measured=self.why)]


@dataclass(frozen=True)
class InEach(Rule):
    """A rule per case; one verdict each, Holm's correction over all of them."""

    rules: Mapping[str, Rule]

    def cases(self, results: Results) -> list[Case]:
        return [_under(name, case) for name, rule in self.rules.items() for case in rule.found(results)]


@dataclass(frozen=True)
class InRegimes(Rule):
    """The same rule in each regime, with the regime removed from the arms' names; regimes that were not run are skipped."""

    rule: Rule
    regimes: Sequence[str] = tuple(REGIMES)

    def cases(self, results: Results) -> list[Case]:
        there = {regime: own for regime in self.regimes if len(own := in_regime(results.runs, regime))}
        if not there:
            raise NotRunError(", ".join(self.regimes))
        return [_under(name, case) for name, own in there.items() for case in self.rule.found(select(results, own))]


def in_regimes(rule: Rule, regimes: Iterable[str] = tuple(REGIMES)) -> InRegimes:
    """One verdict per regime."""
    return InRegimes(rule, tuple(regimes))


def _under(name: str, case: Case) -> Case:
    return replace(case, name=", ".join(part for part in (name, case.name) if part))


@dataclass(frozen=True)
class Reached:
    """The seeds whose run of `arm` reached the clock's threshold."""

    arm: str
    clock: Clock = FIRST_99

    def seeds(self, runs: pd.DataFrame) -> tuple[list[int], int]:
        """Those seeds, and how many there are in all."""
        (own,) = common_seeds(runs, [self.arm])
        return list(own.index[self.clock.sample(own).grokked]), len(own)


@dataclass(frozen=True)
class Conditional(Rule):
    """A rule on the seeds that meet a condition only; how many do is reported beside it."""

    rule: Rule
    given: Reached

    def cases(self, results: Results) -> list[Case]:
        seeds, count = self.given.seeds(results.runs)
        own = select(results, results.runs[results.runs["seed"].isin(seeds)])
        note = f"given that {self.given.arm} reached ({self.given.clock}): {say_share(len(seeds), count)}"
        if not seeds:
            return [Case(blocked=f"no seed is left, {note}", measured=note)]
        return [
            replace(case, measured=f"{case.measured}; {note}" if case.measured else note)
            for case in self.rule.found(own)
        ]
