"""Rank correlation with a bootstrap interval over clusters: the checkpoints of one run are not independent of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
Places = NDArray[np.intp]

DRAWS = 4000
"""Resamples of the bootstrap."""
CHUNK = 500


class Correlation(NamedTuple):
    """Spearman's ρ with its 95 % interval; NaN where one side does not vary or there are fewer than three runs."""

    rho: float
    low: float
    high: float
    points: int
    runs: int
    """Independent units: runs, or whatever was given as the cluster."""
    p_above: float = 1.0
    """One-sided bootstrap p of ρ > 0."""
    p_below: float = 1.0
    """One-sided bootstrap p of ρ < 0."""

    @property
    def sign(self) -> int:
        """+1 or −1 where the interval excludes 0, else 0."""
        return int(self.low > 0) - int(self.high < 0)

    def __str__(self) -> str:
        return f"ρ = {self.rho:.2f} ({self.low:.2f} to {self.high:.2f}), {self.points} points of {self.runs} runs"


def rank_correlation(x: ArrayLike, y: ArrayLike, run: Sequence[object], draws: int = DRAWS) -> Correlation:
    """Spearman's ρ of x and y; the bootstrap draws whole runs, with all their points. Points with a missing value do not count;
    an infinite one counts as largest.

    run   which run each point belongs to
    """
    both = np.array([x, y], dtype=np.float64)
    there = ~np.isnan(both).any(0)
    a, b = (np.unique(side, return_inverse=True)[1] for side in both[:, there])
    _, owner = np.unique(np.asarray(run, dtype=str)[there], return_inverse=True)
    points, runs = len(owner), int(owner.max(initial=-1)) + 1
    if runs < 3:
        return Correlation(np.nan, np.nan, np.nan, points, runs)
    generator = np.random.default_rng(0)
    drawn = generator.multinomial(runs, np.full(runs, 1 / runs), draws).astype(float)
    found = np.concatenate([_spearman(a, b, drawn[at : at + CHUNK][:, owner]) for at in range(0, draws, CHUNK)])
    known = found[np.isfinite(found)]
    rho = float(_spearman(a, b, np.ones((1, points)))[0])
    if not len(known) or np.isnan(rho):
        return Correlation(rho, np.nan, np.nan, points, runs)
    low, high = np.quantile(known, [0.025, 0.975])
    tails = [float((np.sum(side) + 1) / (len(known) + 1)) for side in (known <= 0, known >= 0)]
    return Correlation(rho, float(low), float(high), points, runs, *tails)


def _spearman(a: Places, b: Places, times: Numbers) -> Numbers:
    """For every row of `times` [draw, point], how often each point counts; a and b say which of the distinct values they have."""
    first, second = (ranks_of_draws(side, times) for side in (a, b))
    size = np.sqrt((times * first**2).sum(1) * (times * second**2).sum(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(size > 0, (times * first * second).sum(1) / size, np.nan)


def ranks_of_draws(place: Places, times: Numbers) -> Numbers:
    """Ranks of points that count several times each, with their mean subtracted, for every row of `times` [draw, point]; equal
    values share the middle of theirs.

    place   which of the distinct values, in order, each point has
    """
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    count = np.add.reduceat(times[:, order], starts, axis=1)
    rank = (np.cumsum(count, axis=1) - (count - 1) / 2)[:, np.cumsum(np.isin(np.arange(len(order)), starts)) - 1]
    unsorted = np.empty_like(times)
    unsorted[:, order] = rank
    return unsorted - (times * unsorted).sum(1, keepdims=True) / times.sum(1, keepdims=True)
