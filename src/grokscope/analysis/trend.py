"""Log-rank tests against one reference arm, and for a trend over an ordered setting (Tarone 1975), both with strata.

In each stratum Z = Σ_j w_j (O_j − E_j) compares the runs of arm j that grokked with those expected if all arms shared one
distribution of times; the scores w_j are the ranks of the setting's values. Z and its variance wᵀVw, with V the hypergeometric
covariance of the log-rank test, are summed over strata. Two arms with scores 0 and 1 give the log-rank test itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from ..errors import ConfigError, nearest
from .groups import samples_of
from .survival import Sample, counts_of, holm


class Trend(NamedTuple):
    """Result of a test for trend."""

    z: float
    """Above 0 where runs with larger scores grok sooner; 0 if nothing can be compared."""
    p: float
    """Two-sided; 1 if nothing can be compared."""


def log_rank_trend(*strata: tuple[Sequence[Sample], Sequence[float]]) -> Trend:
    """The test over strata, each given as its arms and their scores."""
    excess = variance = 0.0
    for arms, scores in strata:
        if len(arms) < 2:
            continue
        at_risk, grokked = counts_of(arms)
        w, every, events = np.asarray(scores, dtype=float), at_risk.sum(axis=0), grokked.sum(axis=0)
        share = at_risk / np.maximum(every, 1)
        excess += float(w @ (grokked - share * events).sum(axis=1))
        spread = events * (every - events) / np.maximum(every - 1, 1)
        variance += float((spread * ((w**2) @ share - (w @ share) ** 2)).sum())
    if variance <= 1e-12:
        return Trend(0.0, 1.0)
    z = excess / np.sqrt(variance)
    return Trend(float(z), float(2 * ndtr(-abs(z))))


def compare_with(
    runs: pd.DataFrame, by: str, reference: Any, *, time: str = "t_grok", end: str = "epoch"
) -> pd.DataFrame:
    """Log-rank test of each arm against a reference arm: one row per other arm with z (above 0 where the arm groks sooner), p and
    p_holm, corrected for the number of comparisons. The other arguments are those of `summarise`."""
    arms = samples_of(runs, by, time, end)
    if reference not in arms:
        raise ConfigError("reference", f"no arm is called {reference!r}. {nearest(str(reference), map(str, arms))}")
    others = [arm for arm in arms if arm != reference]
    tests = [log_rank_trend(([arms[reference], arms[arm]], [0, 1])) for arm in others]
    table = pd.DataFrame(
        {"arm": others, "z": [test.z for test in tests], "p": [test.p for test in tests]}, columns=["arm", "z", "p"]
    )
    table["p_holm"] = holm(table["p"])
    return table


def trend_over(
    runs: pd.DataFrame, setting: str, strata: Sequence[str] = (), *, time: str = "t_grok", end: str = "epoch"
) -> Trend:
    """Test for trend over the ranks of a numeric column, stratified by other columns.

    runs   one row per run, as in `summarise`
    """
    ranks = {value: rank for rank, value in enumerate(sorted(runs[setting].dropna().unique()))}
    groups = runs.groupby(list(strata), sort=False, dropna=False) if strata else [((), runs)]
    parts = []
    for _, own in groups:
        own = own[own[setting].notna()]
        if own[setting].nunique() > 1:
            arms = samples_of(own, setting, time, end)
            parts.append((list(arms.values()), [float(ranks[value]) for value in arms]))
    return log_rank_trend(*parts)
