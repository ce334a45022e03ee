"""Rank correlation with a bootstrap interval over runs: the checkpoints of one run are not independent of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
Places = NDArray[np.intp]


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
        return f"ρ = {self.rho:.2f} ({self.low:.2f} to {self.high:.2f}), {self.points} points of {self.runs} runs"


def rank_correlation(x: ArrayLike, y: ArrayLike, run: Sequence[object], draws: int = 2000) -> Correlation:
    """Spearman's ρ of x and y; the bootstrap draws whole runs, with all their points. Points with a missing value do not count.

    run   which run each point belongs to
    """
    both = np.array([x, y], dtype=np.float64)
    there = np.isfinite(both).all(0)
    a, b = (np.unique(side, return_inverse=True)[1] for side in both[:, there])
    _, owner = np.unique(np.asarray(run, dtype=str)[there], return_inverse=True)
    points, runs = len(owner), int(owner.max(initial=-1)) + 1
    if runs < 3:
        return Correlation(np.nan, np.nan, np.nan, points, runs)
    generator = np.random.default_rng(0)
    drawn = (np.bincount(generator.integers(0, runs, runs), minlength=runs) for _ in range(draws))
    found = np.array([_spearman(a, b, times[owner].astype(float)) for times in drawn])
    known = found[np.isfinite(found)]
    low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
    return Correlation(_spearman(a, b, np.ones(points)), float(low), float(high), points, runs)


def _spearman(a: Places, b: Places, times: Numbers) -> float:
    """Of points that count several times each; a and b say which of the distinct values they have."""
    first, second = (ranks(side, times) for side in (a, b))
    size = np.sqrt((times @ first**2) * (times @ second**2))
    return float((times * first) @ second / size) if size > 0 else float("nan")


def ranks(place: Places, times: Numbers) -> Numbers:
    """Ranks of points that count several times each, with their mean taken away; equal values share the middle of theirs.

    place   which of the distinct values, in order, each point has
    """
    count = np.bincount(place, times)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    return rank - (times @ rank) / times.sum()
