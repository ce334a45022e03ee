"""Shares of runs: exact intervals, one-sided tests, and differences between paired shares."""

from __future__ import annotations

from functools import lru_cache

from scipy.stats import binomtest


@lru_cache(maxsize=4096)  # a ledger asks for few shares, very often
def share_interval(true: int, count: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of a share (Clopper & Pearson 1934); 0 to 1 without runs."""
    if not count:
        return 0.0, 1.0
    interval = binomtest(true, count).proportion_ci(level, method="exact")
    return float(interval.low), float(interval.high)


def p_share_above(true: int, count: int, share: float) -> float:
    """One-sided exact p of "the share lies above `share`"; 1 without runs."""
    return float(binomtest(true, count, share, alternative="greater").pvalue) if count else 1.0


def p_share_below(true: int, count: int, share: float) -> float:
    """One-sided exact p of "the share lies below `share`"; 1 without runs."""
    return float(binomtest(true, count, share, alternative="less").pvalue) if count else 1.0


def paired_difference(first: int, second: int, pairs: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of the difference of two paired shares that holds with at least `level` whatever the shares are.

    first    pairs in which only the first run is true
    second   pairs in which only the second run is true
    pairs    all pairs

    The difference is that of the shares of the two kinds of discordant pairs; each has its exact interval at half of the error.
    """
    each = 1 - (1 - level) / 2
    (low, high), (other_low, other_high) = (share_interval(count, pairs, each) for count in (first, second))
    return low - other_high, high - other_low
