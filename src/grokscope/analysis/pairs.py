"""Paired comparisons: seed s of one arm with seed s of the other.

Times of runs that never reached a threshold are censored. They enter as Prentice–Wilcoxon scores (Prentice 1978; paired: O'Brien &
Fleming 1987): the expected rank of a run among all runs, so that one that never reached counts as latest without an invented time.
Swapping the labels within a pair leaves the null distribution unchanged, so the test flips signs of the differences: all 2ⁿ
assignments while they are few, else 100,000 random ones. `scipy.stats.permutation_test(permutation_type="samples")` does the same;
here all draws are one matrix product, which is fast enough for a ledger and for the simulation of its size and power.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from .survival import Sample

Array = np.ndarray

DRAWS = 100_000
"""Random assignments of a Monte-Carlo test."""
EXACT = 16
"""Most pairs for which all 2ⁿ assignments are enumerated."""
ROUNDING = 1e-5
"""Sums closer than this, relative to the sum of sizes, count as equal (float32)."""


@lru_cache(maxsize=12)
def _signs(pairs: int, draws: int) -> tuple[Array, bool]:
    """Assignments of signs [draw, pair], and whether they are all of them."""
    if pairs <= EXACT:
        every = np.arange(2**pairs)[:, None] >> np.arange(pairs) & 1
        return (1 - 2 * every).astype(np.float32), True
    generator = np.random.default_rng(pairs)
    return (1 - 2 * generator.integers(0, 2, (draws, pairs), dtype=np.int8)).astype(np.float32), False


def sign_flip(difference: ArrayLike, draws: int = DRAWS) -> Array:
    """One-sided p of "the differences lie above 0": the share of sign assignments with a sum at least as large.

    difference   [pair] or [table, pair]; the result has the shape of the leading axis
    """
    d = np.asarray(difference, dtype=float)
    if d.ndim == 1:
        d = d[d != 0]  # a pair without a difference has no sign to flip
    if not d.shape[-1]:
        return np.ones(d.shape[:-1])
    signs, exact = _signs(d.shape[-1], draws)
    sums = signs @ np.atleast_2d(d).T.astype(np.float32)  # [draw, table]
    slack = ROUNDING * np.abs(d).sum(-1)
    larger = (sums >= np.atleast_1d(d.sum(-1) - slack)).sum(0).reshape(d.shape[:-1])
    return np.asarray(larger / len(signs) if exact else (larger + 1) / (len(signs) + 1))


def prentice_scores(time: Array, reached: Array) -> Array:
    """Scores in (−1, 1), larger for later: 1 − 2·S(t) of a run that reached at t, 1 − S(t) of one censored at t.

    S is the product of r/(r + 1) over the events up to t with r runs at risk. Equal times share the mean of their scores.
    Both arguments are [run] or [table, run].
    """
    t, event = np.atleast_2d(time).astype(float), np.atleast_2d(reached).astype(bool)
    runs = t.shape[1]
    order = np.lexsort((~event, t), axis=-1)  # at equal times, events come before censoring
    t, event = (np.take_along_axis(x, order, axis=-1) for x in (t, event))
    risk = np.arange(runs, 0, -1)
    survival = np.cumprod(np.where(event, risk / (risk + 1), 1.0), axis=-1)
    score = np.where(event, 1 - 2 * survival, 1 - survival)
    new = np.ones(t.shape, dtype=bool)
    new[:, 1:] = (t[:, 1:] != t[:, :-1]) | (event[:, 1:] != event[:, :-1])
    group = np.cumsum(new.ravel()) - 1
    score = (np.bincount(group, score.ravel()) / np.bincount(group))[group].reshape(t.shape)
    scores = np.empty_like(score)
    np.put_along_axis(scores, order, score, axis=-1)
    return scores.reshape(np.shape(time))


def score_differences(arm: Sample, other: Sample, factor: float = 1.0) -> Array:
    """Score of `other` minus that of `arm`, per pair, with the times of `arm` multiplied by `factor`; > 0 where `arm` is sooner."""
    time = np.concatenate([arm.time * factor, other.time], axis=-1)
    scores = prentice_scores(time, np.concatenate([arm.grokked, other.grokked], axis=-1))
    pairs = arm.time.shape[-1]
    return scores[..., pairs:] - scores[..., :pairs]


def p_sooner(arm: Sample, other: Sample, factor: float = 1.0, draws: int = DRAWS) -> Array:
    """One-sided p of "`arm`, slowed by `factor`, reaches sooner than `other`"; the samples are paired."""
    return sign_flip(score_differences(arm, other, factor), draws)


def p_later(arm: Sample, other: Sample, factor: float = 1.0, draws: int = DRAWS) -> Array:
    """One-sided p of "`arm`, slowed by `factor`, reaches later than `other`"; the samples are paired."""
    return sign_flip(-score_differences(arm, other, factor), draws)


def signed_ranks(difference: ArrayLike) -> Array:
    """Ranks of the sizes, with the signs of the differences (Wilcoxon 1945); 0 stays 0. Last axis: pairs."""
    from scipy.stats import rankdata

    d = np.asarray(difference, dtype=float)
    return np.sign(d) * rankdata(np.abs(d), axis=-1)


def p_ratio_below(arm: Sample, other: Sample, border: float, draws: int = DRAWS) -> Array:
    """One-sided p of "the time ratio of `arm` to `other` lies below `border`", for all runs by their scores *and* for the pairs in
    which both reached by Wilcoxon's test, which is what the interval of `time_ratio` inverts: the larger of the two."""
    return np.maximum(p_sooner(arm, other, 1 / border, draws), _p_log_ratio(arm, other, border, 1, draws))


def p_ratio_above(arm: Sample, other: Sample, border: float, draws: int = DRAWS) -> Array:
    """The same of "lies above"."""
    return np.maximum(p_later(arm, other, 1 / border, draws), _p_log_ratio(arm, other, border, -1, draws))


def _p_log_ratio(arm: Sample, other: Sample, border: float, sign: int, draws: int) -> Array:
    if arm.time.ndim == 1:
        both = arm.grokked & other.grokked
        arm, other = (Sample(own.time[both], own.grokked[both]) for own in (arm, other))
    below = np.log(border) - np.log(arm.time) + np.log(other.time)
    return sign_flip(sign * signed_ranks(below), draws)


@lru_cache(maxsize=256)
def _rank_sum_quantile(pairs: int, tail: float) -> int:
    """Smallest q with P(W ≤ q) ≥ tail, W the sum of the positive signed ranks of `pairs` pairs."""
    counts = np.ones(1)
    for rank in range(1, pairs + 1):
        longer = np.zeros(len(counts) + rank)
        longer[: len(counts)] += counts
        longer[rank:] += counts
        counts = longer / 2
    return int(np.searchsorted(np.cumsum(counts), tail * (1 - 1e-12)))


def hodges_lehmann(difference: ArrayLike, level: float = 0.95) -> tuple[float, float, float]:
    """Median of the means of all pairs of differences, with the exact interval of Wilcoxon's test; infinite ends where fewer
    than six pairs do not bound it at this level, NaN without any."""
    d = np.asarray(difference, dtype=float)
    if not len(d):
        return np.nan, -np.inf, np.inf
    first, second = np.triu_indices(len(d))
    means = np.sort((d[first] + d[second]) / 2)
    middle, q = float(np.median(means)), _rank_sum_quantile(len(d), (1 - level) / 2)
    return (middle, float(means[q - 1]), float(means[len(means) - q])) if q else (middle, -np.inf, np.inf)


def time_ratio(arm: Sample, other: Sample) -> tuple[float, float, float, int]:
    """Ratio of times, arm to other, over the pairs in which both reached: Hodges–Lehmann on the logarithms, its 95 % interval, and
    the number of those pairs."""
    both = arm.grokked & other.grokked
    logs = np.log(arm.time[both]) - np.log(other.time[both])
    with np.errstate(over="ignore"):
        middle, low, high = np.exp(hodges_lehmann(logs))
    return float(middle), float(low), float(high), int(both.sum())
