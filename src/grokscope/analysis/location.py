"""Where the mean or the median of independent values lies: one-sided tests against a border, and the 95 % interval."""

from __future__ import annotations

import numpy as np
from scipy.stats import ttest_1samp

from .shares import p_share_above, p_share_below

Array = np.ndarray


def mean_tails(values: Array, border: float) -> tuple[float, float]:
    """One-sided p of "the mean lies above the border" and of "below" (Student); of one value, 1."""
    if len(values) < 2:
        return 1.0, 1.0
    if _constant(values):
        return float(values[0] <= border), float(values[0] >= border)
    above, below = (float(ttest_1samp(values, border, alternative=side).pvalue) for side in ("greater", "less"))
    return above, below


def mean_interval(values: Array) -> tuple[float, float, float]:
    """The mean with its interval (Student)."""
    if len(values) < 2:
        return float(values[0]), -np.inf, np.inf
    if _constant(values):
        return (float(values[0]),) * 3
    interval = ttest_1samp(values, 0.0).confidence_interval(0.95)
    return float(values.mean()), float(interval.low), float(interval.high)


def _constant(values: Array) -> bool:
    """Whether the values are equal up to rounding: they have no spread to test with."""
    return len(values) < 2 or bool(np.ptp(values) <= 1e-9 * np.abs(values).max())


def median_tails(values: Array, border: float) -> tuple[float, float]:
    """One-sided p of "the median lies above the border" and of "below" (sign test); values may be infinite."""
    above, below = int((values > border).sum()), int((values < border).sum())
    return p_share_above(above, len(values), 0.5), p_share_above(below, len(values), 0.5)


def median_interval(values: Array) -> tuple[float, float, float]:
    """The lower median with the exact interval between two order statistics; infinite ends for fewer than six values."""
    ordered, count = np.sort(values), len(values)
    skip = next((k for k in range(count // 2 + 1) if p_share_below(k, count, 0.5) > 0.025), 0)
    low, high = (ordered[skip - 1], ordered[count - skip]) if skip else (-np.inf, np.inf)
    return float(ordered[(count - 1) // 2]), float(low), float(high)
