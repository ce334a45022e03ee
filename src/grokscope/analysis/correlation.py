"""Rank correlation with a bootstrap interval over runs: the checkpoints of one run are not independent of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

Numbers = NDArray[np.float64]


class Correlation(NamedTuple):
    """Spearman's ρ with its 95 % interval; NaN where one side does not vary."""

    rho: float
    low: float
    high: float
    points: int
    runs: int

    @property
    def sign(self) -> int:
        """+1 or −1 where the interval leaves 0 out, else 0."""
        return int(self.low > 0) - int(self.high < 0)

    def __str__(self) -> str:
        return f"ρ = {self.rho:.2f} ({self.low:.2f} to {self.high:.2f}; {self.points} points of {self.runs} runs)"


def rank_correlation(x: ArrayLike, y: ArrayLike, run: Sequence[object], draws: int = 2000) -> Correlation:
    """Spearman's ρ of x and y; the bootstrap draws whole runs, with all their points. Points with a missing value do not count.

    run   which run each point belongs to
    """
    a, b = (np.asarray(side, dtype=np.float64) for side in (x, y))
    there = np.isfinite(a) & np.isfinite(b)
    a, b = a[there], b[there]
    _, owner = np.unique(np.asarray(run, dtype=str)[there], return_inverse=True)
    members = [np.flatnonzero(owner == own) for own in range(owner.max() + 1 if len(owner) else 0)]
    if len(members) < 3:
        return Correlation(np.nan, np.nan, np.nan, len(a), len(members))
    generator = np.random.default_rng(0)
    found = []
    for _ in range(draws):
        chosen = np.concatenate([members[own] for own in generator.integers(0, len(members), len(members))])
        found.append(_spearman(a[chosen], b[chosen]))
    known = np.array(found)[np.isfinite(found)]
    low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
    return Correlation(_spearman(a, b), float(low), float(high), len(a), len(members))


def _spearman(a: Numbers, b: Numbers) -> float:
    ranks = [rank - rank.mean() for rank in (rankdata(a), rankdata(b))]
    size = np.linalg.norm(ranks[0]) * np.linalg.norm(ranks[1])
    return float(ranks[0] @ ranks[1] / size) if size > 0 else float("nan")
