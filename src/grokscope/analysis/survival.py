"""Times of runs of which some never grokked.

A run that never grokked has no grokking time, only "later than its last epoch": it is censored there. Leaving such runs
out, or counting them at their last epoch, makes slow arms look fast. Kaplan & Meier (1958) estimate the share of runs
that have not grokked by each epoch, with the interval of Greenwood (1926) on the log(−log) scale, which stays within
[0, 1]; Mantel's log-rank test (1966) compares arms; Holm (1979) corrects for many comparisons.

The test rests on a large-sample approximation: between two arms of 3 runs its p stays above about 0.02 whatever
happens. Censoring must not depend on the time to come: a run that diverged was censored for cause, so an arm with many
of those looks better than it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtri

Array = np.ndarray


class Sample(NamedTuple):
    """Times of one arm's runs."""

    time: Array
    """When the run grokked, or its last epoch if it never did."""
    grokked: Array
    """Whether it grokked; False is censored."""


def sample(t_grok: Sequence[float | None] | ArrayLike, last_epoch: ArrayLike) -> Sample:
    """Runs with a missing t_grok (None or NaN) are censored at their last epoch."""
    times = np.atleast_1d(np.asarray(t_grok, dtype=float))
    ends = np.broadcast_to(np.asarray(last_epoch, dtype=float), times.shape)
    grokked = ~np.isnan(times)
    if np.any(np.isnan(ends) & ~grokked):
        raise ValueError("a run that never grokked needs its last epoch")
    return Sample(np.where(grokked, times, ends), grokked)


class Median(NamedTuple):
    """Time by which half of the runs have grokked, with a 95 % interval; None where the curve stays above ½."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class KaplanMeier:
    """The share of runs not yet grokked, as a step function; one entry for every distinct time in the sample.

    Each entry holds from its own time up to the next. Before the first time the share is 1.
    """

    time: Array
    survival: Array
    lower: Array
    """Lower end of the pointwise 95 % interval."""
    upper: Array
    """Upper end; where the share is 0 the formula has no value, and the last one before is carried on."""
    at_risk: Array
    """Runs that had not grokked and were still running just before the time."""
    grokked: Array
    """Runs that grokked at the time."""
    censored: Array
    """Runs that ended at the time without having grokked."""

    @property
    def median(self) -> Median:
        """Smallest time with a share ≤ ½; its limits are where the curve's reach ½ (Brookmeyer & Crowley 1982)."""
        return Median(*(self._down_to_half(curve) for curve in (self.survival, self.lower, self.upper)))

    def _down_to_half(self, curve: Array) -> float | None:
        # The slack keeps a share of exactly ½, computed as a product of fractions, from being missed by rounding.
        reached = np.flatnonzero(curve <= 0.5 + 1e-12)
        return float(self.time[reached[0]]) if len(reached) else None


def kaplan_meier(runs: Sample) -> KaplanMeier:
    """S(t) = Π over times u ≤ t of (1 − d_u / n_u), with d_u runs grokking at u out of n_u at risk."""
    if not len(runs.time):
        raise ValueError("no runs to estimate from")
    time = np.unique(runs.time)
    at_risk, grokked = _counts(runs, time)
    survival = np.cumprod(1 - grokked / at_risk)
    lower, upper = _interval(survival, at_risk, grokked)
    ended = np.array([np.sum(runs.time == t) for t in time])
    return KaplanMeier(time, survival, lower, upper, at_risk, grokked, ended - grokked)


def _counts(runs: Sample, time: Array) -> tuple[Array, Array]:
    """Runs at risk just before, and runs grokking at, each time."""
    at_risk = np.array([np.sum(runs.time >= t) for t in time], dtype=int)
    grokked = np.array([np.sum(runs.grokked & (runs.time == t)) for t in time], dtype=int)
    return at_risk, grokked


def _interval(survival: Array, at_risk: Array, grokked: Array) -> tuple[Array, Array]:
    """95 % limits S^exp(±z·σ / log S) with Greenwood's σ² = Σ d / (n (n − d)), defined where 0 < S < 1."""
    z = ndtri(0.975)
    lower, upper = survival.copy(), survival.copy()
    left = at_risk - grokked
    variance = np.cumsum(grokked / (at_risk * np.maximum(left, 1)))
    inside = (survival > 0) & (survival < 1)
    half_width = -z * np.sqrt(variance[inside]) / np.log(survival[inside])
    lower[inside] **= np.exp(half_width)
    upper[inside] **= np.exp(-half_width)
    if survival[-1] == 0:  # only the last entry can be 0
        upper[-1] = upper[-2] if len(upper) > 1 else 1.0
    return lower, upper


class LogRank(NamedTuple):
    """Result of the log-rank test; a small p says that the arms do not share one distribution of grokking times."""

    chi2: float
    freedom: int
    """Degrees of freedom: arms that can be compared, less one; 0 when nothing can be, and then p is 1."""
    p: float
    observed: tuple[int, ...]
    """Runs that grokked in each arm."""
    expected: tuple[float, ...]
    """Runs that would have grokked in each arm by then, were there no difference."""


def log_rank(*arms: Sample) -> LogRank:
    """Compare two or more arms. χ² = Zᵀ V⁻ Z with Z = observed − expected and V its hypergeometric covariance."""
    if len(arms) < 2:
        raise ValueError("a comparison needs two or more arms")
    events = np.unique(np.concatenate([arm.time[arm.grokked] for arm in arms]))
    counts = [_counts(arm, events) for arm in arms]
    n, d = (np.array([c[i] for c in counts], dtype=float) for i in (0, 1))  # [arm, time]
    n_all, d_all = n.sum(axis=0), d.sum(axis=0)
    share = n / n_all
    expected = (share * d_all).sum(axis=1)
    # One run left at risk says nothing about arms: its variance is 0, and max() only avoids 0/0.
    spread = d_all * (n_all - d_all) / np.maximum(n_all - 1, 1)
    covariance = np.diag((spread * share).sum(axis=1)) - (spread * share) @ share.T
    excess = d.sum(axis=1) - expected
    # An arm that ended before any run grokked has nothing to say. The rest sum to zero, so one of them is redundant.
    free = np.flatnonzero(expected > 0)[:-1]
    chi2, p, freedom = 0.0, 1.0, 0
    if len(free) and spread.any():
        freedom = len(free)
        chi2 = float(excess[free] @ np.linalg.solve(covariance[np.ix_(free, free)], excess[free]))
        p = float(chdtrc(freedom, chi2))
    return LogRank(chi2, freedom, p, tuple(int(x) for x in d.sum(axis=1)), tuple(float(x) for x in expected))


def holm(p_values: ArrayLike) -> Array:
    """Holm's step-down correction: adjusted p values, in the order given, that keep the family-wise error."""
    p = np.asarray(p_values, dtype=float)
    if np.any(~((p >= 0) & (p <= 1))):
        raise ValueError("p values lie between 0 and 1")
    order = np.argsort(p, kind="stable")
    steps = np.arange(len(p), 0, -1) * p[order]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
