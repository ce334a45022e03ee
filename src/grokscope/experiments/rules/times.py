"""Rules about the times of two arms and more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.blocks import p_differ
from ...analysis.pairs import p_later, p_ratio_above, p_ratio_below, p_sooner, time_ratio
from ...analysis.shares import paired_difference
from ...analysis.survival import Sample
from .. import power
from ..base import Case, Effect
from ..clauses import median, say
from ..clocks import FIRST_99, Clock, NotRunError, paired, times
from ..columns import select
from ..settle import Rule, too_few

if TYPE_CHECKING:
    from ...store.results import Results


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


PAIRED = "paired sign-flip permutation of Prentice–Wilcoxon scores"


@dataclass(frozen=True)
class Sooner(Rule):
    """`arm` reaches sooner than `other`, paired by seed; runs that never reach count as latest. Agrees where that is shown, however
    little sooner it is. Disagrees if it is later, or not shown to be sooner and shown to be so by less than a factor of `margin`.
    Cannot be told where share and time point in opposite directions."""

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
            blocked=too_few(len(arm.time)) or ("share and time point in opposite directions" if split else ""),
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
            blocked=too_few(len(arm.time)),
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
            blocked=too_few(len(first.time)),
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
            blocked=too_few(seeds, 4),
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
        simulated = cases[0].simulated
        if len(rivals) > 1:
            fastest, *others = paired(compared.runs, (best[self.family], *rivals.values()), self.clock)
            spreads = sorted(_both(fastest, other) for other in others)
            simulated = power.of_fastest(min(case.seeds for case in cases), tuple(spreads))
        found = replace(
            cases[0],
            p_for=max(case.p_for for case in cases),  # it has to be sooner than each of them
            p_against=min(1.0, len(cases) * min(case.p_against for case in cases)),
            effects=ratios,
            measured=_say(compared, best.values(), self.clock),
            seeds=min(case.seeds for case in cases),
            simulated=simulated,
            blocked=next((case.blocked for case in cases if case.blocked), ""),
        )
        return [found]
