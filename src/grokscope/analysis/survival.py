"""Times of runs of which some have not grokked.

A run that has not grokked has no grokking time, only "later than its last epoch": it is censored there. Leaving such runs
out, or counting them at their last epoch, makes slow arms look fast. The estimate of the share of runs that have not
grokked by each epoch (Kaplan & Meier 1958), its interval (Greenwood 1926, on the log(−log) scale, which stays within
[0, 1]) and the log-rank test between two arms (Mantel 1966) are SciPy's. SciPy has no log-rank test between more than
two arms, no median of the estimate and no correction for many comparisons (Holm 1979): those are here.

The test rests on a large-sample approximation: between two arms of 3 runs its p is never below about 0.02.
Censoring must not depend on the time to come: a run that diverged was censored for cause, so an arm with many of those
looks better than it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc
from scipy.stats import CensoredData, ecdf, logrank

Array = np.ndarray


class Sample(NamedTuple):
    """Times of one arm's runs."""

    time: Array
    """When the run grokked, or its last epoch if it has not."""
    grokked: Array
    """Whether it grokked; False is censored."""

    def censored(self) -> CensoredData:
        """The same for SciPy, which takes no infinite time: such a run is censored after all others instead."""
        finite = self.time[np.isfinite(self.time)]
        right = np.where(np.isfinite(self.time), self.time, finite.max(initial=0.0) + 1.0)
        return CensoredData(uncensored=self.time[self.grokked], right=right[~self.grokked])


def sample(t_grok: Sequence[float | None] | ArrayLike, last_epoch: ArrayLike) -> Sample:
    """Runs with a missing t_grok (None or NaN) are censored at their last epoch."""
    times = np.atleast_1d(np.asarray(t_grok, dtype=float))
    ends = np.broadcast_to(np.asarray(last_epoch, dtype=float), times.shape)
    grokked = ~np.isnan(times)
    if np.any(np.isnan(ends) & ~grokked):
        raise ValueError("a run that has not grokked needs its last epoch")
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
    estimate = ecdf(runs.censored()).sf
    survival = estimate.probabilities
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The confidence interval is undefined", RuntimeWarning)
        interval = estimate.confidence_interval(0.95, method="log-log")
    # The formula is undefined where the share is 1, and where it is 0: there only the last entry can be.
    lower = np.where(survival == 1, 1.0, np.where(survival == 0, 0.0, interval.low.probabilities))
    upper = np.where(survival == 1, 1.0, interval.high.probabilities)
    if survival[-1] == 0:
        upper[-1] = upper[-2] if len(upper) > 1 else 1.0
    return KaplanMeier(estimate.quantiles, survival, lower, upper)


class LogRank(NamedTuple):
    """Result of the log-rank test; a small p says that the arms do not share one distribution of grokking times."""

    chi2: float
    freedom: int
    """Degrees of freedom: arms that can be compared, less one; 0 when nothing can be, and then p is 1."""
    p: float


def log_rank(*arms: Sample) -> LogRank:
    """Compare two or more arms. χ² = Zᵀ V⁻ Z with Z = observed − expected and V its hypergeometric covariance."""
    if len(arms) < 2:
        raise ValueError("a comparison needs two or more arms")
    at_risk, grokked = counts_of(arms)
    # An event distinguishes arms if runs of two arms are at risk and not all of them grok at once. An arm that is at risk
    # at no such event ended before any: it carries no information.
    telling = ((at_risk > 0).sum(axis=0) > 1) & (at_risk.sum(axis=0) > grokked.sum(axis=0))
    compared = np.flatnonzero(at_risk[:, telling].any(axis=1))
    if len(compared) < 2:
        return LogRank(0.0, 0, 1.0)
    if len(compared) == 2:
        test = logrank(*(arms[arm].censored() for arm in compared))
        return LogRank(float(test.statistic) ** 2, 1, float(test.pvalue))
    return _log_rank_of_many(at_risk[compared], grokked[compared])


def _log_rank_of_many(at_risk: Array, grokked: Array) -> LogRank:
    """The test that SciPy does not have; both counts are [arm, time]."""
    at_risk_all, grokked_all = at_risk.sum(axis=0), grokked.sum(axis=0)
    share = at_risk / at_risk_all
    expected = (share * grokked_all).sum(axis=1)
    # A single run at risk carries no information about arms: its variance is 0, and max() only avoids 0/0.
    spread = grokked_all * (at_risk_all - grokked_all) / np.maximum(at_risk_all - 1, 1)
    covariance = np.diag((spread * share).sum(axis=1)) - (spread * share) @ share.T
    # The excesses sum to zero, so one of them is redundant.
    excess = (grokked.sum(axis=1) - expected)[:-1]
    chi2 = float(excess @ np.linalg.solve(covariance[:-1, :-1], excess))
    return LogRank(chi2, len(excess), float(chdtrc(len(excess), chi2)))


def counts_of(arms: Sequence[Sample]) -> tuple[Array, Array]:
    """Runs of each arm at risk just before, and grokking at, each time at which any run grokked; both [arm, time]."""
    events = np.unique(np.concatenate([arm.time[arm.grokked] for arm in arms]))
    at_risk = [(arm.time[:, None] >= events).sum(axis=0) for arm in arms]
    grokked = [((arm.time[:, None] == events) & arm.grokked[:, None]).sum(axis=0) for arm in arms]
    return np.array(at_risk, dtype=float), np.array(grokked, dtype=float)


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
