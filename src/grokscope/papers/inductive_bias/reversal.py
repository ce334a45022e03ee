"""The rule for effects that may change their direction between cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.pairs import p_later, p_sooner, time_ratio
from ...analysis.survival import Sample
from ...experiments.base import Case, Effect, Simulated
from ...experiments.clauses import say
from ...experiments.clocks import FIRST_99, Clock, NotRunError, paired
from ...experiments.power import LEVEL, pairs_of_times, spread_of
from ...experiments.rules import PAIRED
from ...experiments.settle import Rule, too_few

if TYPE_CHECKING:
    from ...store.results import Results

Pair = tuple[str, str]
DRAWS = 2000
"""Permutations of a simulated test."""


@dataclass(frozen=True)
class NoReversal(Rule):
    """An effect (an arm against another) is not sooner in one case and later in another.

    Disagrees if it is sooner in one and later in another: the larger of the two smallest p, each times the number of cases. Agrees
    if it is nowhere later than `slack` times, or nowhere sooner than 1/slack times: the largest p of either, the better of both
    times two. Cases in which an arm was not run are left out.
    """

    effects: Mapping[str, Mapping[str, Pair]]
    slack: float = 1.25
    clock: Clock = FIRST_99

    def cases(self, results: Results) -> list[Case]:
        there = set(results.runs["arm"])
        run = {
            name: {case: pair for case, pair in own.items() if set(pair) <= there} for name, own in self.effects.items()
        }
        found = [self._case(results, name, pairs) for name, pairs in run.items() if len(pairs) > 1]
        if not found:
            raise NotRunError(", ".join(self.effects))
        return found

    def _case(self, results: Results, name: str, pairs: Mapping[str, Pair]) -> Case:
        samples = {}
        for case, pair in pairs.items():
            arm, other = paired(results.runs, pair, self.clock)
            samples[case] = arm, other
        every, count = list(samples.values()), len(samples)
        turned = max(min(float(test(arm, other)) for arm, other in every) for test in (p_sooner, p_later))
        never_later = max(float(p_sooner(arm, other, 1 / self.slack)) for arm, other in every)
        never_sooner = max(float(p_later(arm, other, self.slack)) for arm, other in every)
        seeds = min(len(arm.time) for arm, _ in every)
        return Case(
            name=name,
            p_for=min(1.0, 2 * min(never_later, never_sooner)),
            p_against=min(1.0, count * turned),
            effects=[Effect(self.clock.ratio, *time_ratio(*own)[:3], of=case) for case, own in samples.items()],
            measured=" · ".join(say(results.runs, arm, self.clock) for pair in pairs.values() for arm in pair),
            test=f"{PAIRED}, in every case, {self.clock}",
            seeds=seeds,
            blocked=too_few(seeds),
            simulated=_simulated(seeds, count, max(map(_spread, every)), self.slack) if seeds > 1 else None,
        )


def _spread(pair: tuple[Sample, Sample]) -> float:
    arm, other = pair
    both = arm.grokked & other.grokked
    return spread_of(np.log(arm.time[both]) - np.log(other.time[both]))


@lru_cache(maxsize=64)
def _simulated(seeds: int, cases: int, spread: float, slack: float) -> Simulated:
    """Later by the slack in one case and sooner by it in another, which is just a reversal; and sooner by a third in all."""

    def agrees(ratios: Sequence[float]) -> float:
        pairs = [pairs_of_times(seeds, spread, ratio, seed=7 + at) for at, ratio in enumerate(ratios)]
        later = np.max([p_sooner(*own, 1 / slack, DRAWS) for own in pairs], axis=0)
        sooner = np.max([p_later(*own, slack, DRAWS) for own in pairs], axis=0)
        return float((2 * np.minimum(later, sooner) < LEVEL).mean())

    size = agrees([slack, 1 / slack, *[1.0] * (cases - 2)])
    return Simulated(size, agrees([2 / 3] * cases), "a time ratio of 0.67 in every case")
