"""Rules made of other rules, and those that are none of the usual kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from ..base import Case
from ..clauses import say_share
from ..clocks import FIRST_99, Clock, NotRunError, common_seeds
from ..columns import select
from ..regimes import REGIMES, in_regime
from ..settle import Rule

if TYPE_CHECKING:
    from ...store.results import Results


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
