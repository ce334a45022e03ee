"""Rules for a factorial: which factor explains more of the times, and whether arms that are tuned separately are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.correlation import ranks_of_draws
from ...experiments.base import Case, Effect, Simulated
from ...experiments.clauses import median
from ...experiments.clocks import FIRST_99, Clock, NotRunError, times
from ...experiments.columns import select, values
from ...experiments.power import LEVEL
from ...experiments.rules import Alike
from ...experiments.settle import Rule, too_few

if TYPE_CHECKING:
    import pandas as pd

    from ...store.results import Results

DRAWS = 2000
"""Resamples of the bootstrap."""
TABLES, FEW_DRAWS = 120, 100
"""Simulated tables, and the resamples of each."""
CHUNK = 250
"""Resamples at once."""
FEWEST = 10
"""Seeds without which it is not decided."""


@dataclass(frozen=True)
class ExplainsMore(Rule):
    """The combinations of the settings `cells` explain more of the ranks of the times (runs that never reached come last) than the
    setting `factor` does: shares of variance between groups, bootstrap over seeds."""

    cells: Sequence[str]
    factor: str
    clock: Clock = FIRST_99

    def cases(self, results: Results) -> list[Case]:
        runs = results.runs
        place = np.unique(values(results, self.clock).to_numpy(), return_inverse=True)[1]
        groups = [_groups(runs, self.cells), _groups(runs, [self.factor])]
        _, seed = np.unique(runs["seed"], return_inverse=True)
        seeds = int(seed.max()) + 1
        difference = _resampled(place, groups, seed, DRAWS)
        whole = _between(place, groups, np.ones((1, len(runs))))[:, 0].tolist()
        low, high = (float(end) for end in np.quantile(difference, [0.025, 0.975]))
        never = int(np.isinf(values(results, self.clock)).sum())
        cells, factor = " and ".join(self.cells), self.factor
        return [
            Case(
                p_for=float((np.sum(difference <= 0) + 1) / (DRAWS + 1)),
                p_against=float((np.sum(difference >= 0) + 1) / (DRAWS + 1)),
                effects=(Effect("difference of the shares of variance", whole[0] - whole[1], low, high, percent=True),),
                measured=f"{cells} explain {100 * whole[0]:.0f} % of the variance of the ranks, "
                f"{factor} {100 * whole[1]:.0f} %; {len(runs)} runs, {never} never reached",
                test=f"variance of ranks between groups, bootstrap over seeds, {self.clock}",
                seeds=seeds,
                blocked=too_few(seeds, FEWEST),
                simulated=_simulated(groups[0], groups[1], seed),
            )
        ]


@dataclass(frozen=True)
class BestAlike(Rule):
    """The best arms of all families take equally long, within a factor of `slack`. They are chosen on one half of the seeds, by
    their medians, and compared on the other."""

    families: Mapping[str, Sequence[str]]
    slack: float = 1.5
    clock: Clock = FIRST_99

    def cases(self, results: Results) -> list[Case]:
        runs = results.runs
        known = set(runs["arm"])
        there = {name: own for name, arms in self.families.items() if (own := [arm for arm in arms if arm in known])}
        if len(there) < 2:
            raise NotRunError(", ".join(self.families))
        seeds = sorted(runs["seed"].unique())
        tuning, rest = (runs[runs["seed"].isin(seeds[at::2])] for at in (0, 1))
        best = [min(arms, key=lambda arm: median(times(tuning, arm, self.clock))) for arms in there.values()]
        return Alike(tuple(best), self.slack, self.clock).cases(select(results, rest))


def _resampled(place: np.ndarray, groups: Sequence[np.ndarray], seed: np.ndarray, draws: int) -> np.ndarray:
    """The difference of the two groups' shares of variance in bootstrap samples of the seeds."""
    seeds = int(seed.max()) + 1
    drawn = np.random.default_rng(0).multinomial(seeds, np.full(seeds, 1 / seeds), draws)
    shares = [_between(place, groups, drawn[at : at + CHUNK][:, seed]) for at in range(0, draws, CHUNK)]
    first, second = np.concatenate(shares, axis=1)
    return np.asarray(first - second)


def _simulated(cells: np.ndarray, factor: np.ndarray, seed: np.ndarray) -> Simulated:
    """The same design with log times that grow evenly from group to group, and as much noise: both explain as much as the other,
    which is just false; and the factor half as much."""
    generator = np.random.default_rng(7)

    def agrees(size: float) -> float:
        both = _even(cells) + size * _even(factor)
        tables = both + generator.normal(0, 1, (TABLES, len(both)))
        places = (np.argsort(np.argsort(table)) for table in tables)
        differences = [_resampled(place, (cells, factor), seed, FEW_DRAWS) for place in places]
        return float(np.mean([(np.sum(own <= 0) + 1) / (FEW_DRAWS + 1) < LEVEL for own in differences]))

    return Simulated(agrees(1.0), agrees(0.5), "a factor whose effects are half as large")


def _even(group: np.ndarray) -> np.ndarray:
    """Even steps from group to group, with variance 1 over the runs."""
    return (group - group.mean()) / max(float(group.std()), 1e-12)


def _groups(runs: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """A number for each combination of settings; a setting that is the same in all runs has no column."""
    there = [name for name in columns if name in runs]
    return runs.groupby(there).ngroup().to_numpy() if there else np.zeros(len(runs), dtype=int)


def _between(place: np.ndarray, groups: Sequence[np.ndarray], times: np.ndarray) -> np.ndarray:
    """Shares of the variance of ranks that lie between groups [grouping, draw]; see `ranks_of_draws` for place and times."""
    weight = times.astype(float)
    rank = ranks_of_draws(place, weight)
    total = (weight * rank**2).sum(1)
    shares = []
    for group in groups:
        member = np.eye(int(group.max()) + 1)[group]  # [run, group]
        size, sums = weight @ member, (weight * rank) @ member
        shares.append((sums**2 / np.maximum(size, 1)).sum(1) / np.where(total > 0, total, np.inf))
    return np.stack(shares)
