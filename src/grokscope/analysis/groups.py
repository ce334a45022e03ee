"""Groups of runs: how soon each arm grokked, how far its runs spread, how many have not, and whether arms differ.

Every summary counts the runs that have not grokked: the median is Kaplan–Meier's, so they pull it up instead of
dropping out of it. Quartiles, extremes and τ_grok describe the runs that grokked, together with their
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ConfigError, nearest
from .survival import LogRank, Sample, holm, kaplan_meier, log_rank, sample


def summarise(runs: pd.DataFrame, by: str | Sequence[str], *, time: str = "t_grok", end: str = "epoch") -> pd.DataFrame:
    """One row per arm, in the order in which the arms first occur.

    runs   one row per run with the columns of `by`, `time`, `end`, and `t_mem` and `tau_grok` if known
    by     the column or columns that distinguish arms
    time   when the run grokked, missing if it has not; another clock is possible, e.g. seconds_to_grok
    end    on the same clock, where a run that has not grokked is censored

    Columns: runs, censored (how many of them have not grokked); median with its 95 % interval median_low … median_high
    (Kaplan–Meier, NaN if not reached); over the runs that grokked q25, q75, fastest, slowest; median_t_mem and
    median_tau_grok over the runs that have one.
    """
    rows = []
    for arm, table in _arms(runs, by, time, end).items():
        times = sample_of(table, time, end)
        grokked = times.time[times.grokked]
        median = kaplan_meier(times).median
        q25, q75, fastest, slowest = np.quantile(grokked, [0.25, 0.75, 0, 1]) if len(grokked) else [np.nan] * 4
        row = {
            "runs": len(table),
            "censored": int(np.sum(~times.grokked)),
            "median": median.value,
            "median_low": median.lower,
            "median_high": median.upper,
            "q25": q25,
            "q75": q75,
            "fastest": fastest,
            "slowest": slowest,
        }
        for column in ("t_mem", "tau_grok"):
            if column in table:
                row[f"median_{column}"] = _numbers(table[column]).median()
        rows.append(pd.Series(row, name=arm, dtype=float))
    summary = pd.DataFrame(rows).astype({"runs": int, "censored": int})
    summary.index.name = by if isinstance(by, str) else None
    return summary


@dataclass(frozen=True)
class Comparison:
    """Whether arms differ in their grokking times."""

    overall: LogRank
    """All arms at once."""
    pairs: pd.DataFrame
    """A row per pair of arms: arm, other, chi2, p, and p_holm, corrected for the number of pairs."""


def log_rank_of_arms(
    runs: pd.DataFrame, by: str | Sequence[str], *, time: str = "t_grok", end: str = "epoch"
) -> LogRank:
    """Log-rank test between all arms at once. Arguments as in `summarise`; for many arms, of which the pairs are too many."""
    return log_rank(*samples_of(runs, by, time, end).values())


def compare(runs: pd.DataFrame, by: str | Sequence[str], *, time: str = "t_grok", end: str = "epoch") -> Comparison:
    """Log-rank test between all arms, and between each two with Holm's correction. Arguments as in `summarise`."""
    arms = samples_of(runs, by, time, end)
    rows = []
    for arm, other in combinations(arms, 2):
        test = log_rank(arms[arm], arms[other])
        rows.append({"arm": arm, "other": other, "chi2": test.chi2, "p": test.p})
    pairs = pd.DataFrame(rows)
    pairs["p_holm"] = holm(pairs["p"])
    return Comparison(log_rank(*arms.values()), pairs)


def samples_of(runs: pd.DataFrame, by: str | Sequence[str], time: str, end: str) -> dict[Any, Sample]:
    """The times of each arm, for a comparison. Arguments as in `summarise`."""
    arms = {arm: sample_of(table, time, end) for arm, table in _arms(runs, by, time, end).items()}
    if len(arms) < 2:
        raise ConfigError("by", f"{by} distinguishes only {len(arms)} arm; a comparison needs two")
    return arms


def _arms(runs: pd.DataFrame, by: str | Sequence[str], time: str, end: str) -> dict[Any, pd.DataFrame]:
    columns = [by] if isinstance(by, str) else list(by)
    for column in (*columns, time, end):
        if column not in runs:
            raise ConfigError(
                column, f"the table of runs has no such column. {nearest(column, map(str, runs.columns))}"
            )
    if runs.empty:
        raise ConfigError("runs", "no runs to summarise")
    # A missing value is an arm too: "no prior" has no prior target.
    grouped = runs.groupby(columns[0] if len(columns) == 1 else columns, sort=False, dropna=False)
    return dict(iter(grouped))


def sample_of(table: pd.DataFrame, time: str, end: str) -> Sample:
    return sample(_numbers(table[time]).to_numpy(), _numbers(table[end]).to_numpy())


def _numbers(column: pd.Series) -> pd.Series:
    """None, NaN and NA alike as NaN."""
    return pd.to_numeric(column).astype("Float64").astype(float)
