"""Rules for a factorial: which factor explains more of the times, and whether arms that are tuned separately are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.correlation import ranks
from ...experiments.base import Case, Effect
from ...experiments.clauses import median
from ...experiments.clocks import FIRST_99, Clock, NotRunError, times
from ...experiments.columns import select, values
from ...experiments.rules import Alike
from ...experiments.settle import Rule

if TYPE_CHECKING:
    import pandas as pd

    from ...store.results import Results

DRAWS = 2000
"""Resamples of the bootstrap."""
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
        drawn = np.random.default_rng(0).multinomial(seeds, np.full(seeds, 1 / seeds), DRAWS)
        shares = np.array([[_between(place, group, n[seed]) for group in groups] for n in drawn])
        difference = shares[:, 0] - shares[:, 1]
        whole = [_between(place, group, np.ones(len(runs))) for group in groups]
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
                blocked=f"{seeds} seeds are fewer than {FEWEST}" if seeds < FEWEST else "",
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


def _groups(runs: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """A number for each combination of settings; a setting that is the same in all runs has no column."""
    there = [name for name in columns if name in runs]
    return runs.groupby(there).ngroup().to_numpy() if there else np.zeros(len(runs), dtype=int)


def _between(place: np.ndarray, group: np.ndarray, times: np.ndarray) -> float:
    """Share of the variance of ranks that lies between groups; see `ranks` for place and times."""
    weight = times.astype(float)
    rank = ranks(place, weight)
    total = weight @ rank**2
    size = np.bincount(group, weight)
    means = np.bincount(group, weight * rank) / np.maximum(size, 1)
    return float((size * means**2).sum() / total) if total else 0.0
