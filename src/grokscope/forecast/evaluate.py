"""How good the predictors are on runs that they have not seen: nested cross-validation over seeds, and transfer.

Seeds are split into folds once and for all. Outer folds score, folds within the training runs choose the penalty. Transfer learns
from all other domains (alphabets, tasks) and scores on one that was left out.

Features that need a checkpoint exist in fewer runs than those that training logs. Every predictor is therefore scored twice: on all
runs that have its features, and on the runs that have the features of all predictors, at one epoch of observation. Only the second
compares predictors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr

from ..analysis.plateau_features import MULTIPLES
from .base import INTERVAL, Forecast, Predictor, predictors
from .data import table_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..store.results import Results

FEWEST = 20
"""Runs without which a predictor is not scored."""
ENOUGH = 0.9
"""Share of the runs that ever have its features at which a predictor is first scored: before, they are a selection."""
On = Literal["common", "own"]
PROTOCOLS = {"seeds": "fold", "transfer": "domain"}
"""What is left out, by protocol."""
FALSE_ALARMS = 0.05
FORECAST = ("mean", "sigma", "middle", "low", "high", "far")
"""Columns that a forecast adds to the table of runs."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """How a predictor did at its first epoch of observation, and with alarms later on."""

    predictor: str
    protocol: str
    """seeds: unseen seeds of known domains; transfer: a domain that was left out."""
    on: On
    """common: the runs that have the features of all predictors; own: all that have those of this one."""
    at: float
    """Epoch of observation, as a multiple of t_mem: the first one at which nine tenths of its runs have its features; in common
    the first one at which this holds for all predictors."""
    runs: int
    auroc: float
    """Of the probability of generalising by the horizon, against whether the run did."""
    error: float
    """Median |log t̂ − log t| of runs that generalised."""
    mape: float
    """Mean |t̂ − t| / t of the same, in percent."""
    rho: float
    """Spearman's ρ between t̂ and t, runs that never generalised last."""
    within: float
    """The same within each domain, averaged over the domains in which eight runs or more generalised."""
    coverage: float
    """Share of the runs whose time lies in the interval of 80 %; a run that has not generalised does if the interval ends later."""
    lead: float
    """Median epochs between the first alarm and t_grok, 0 without one, with false alarms in 5 % of the runs that do not generalise
    by the horizon; NaN where there is no such run."""
    public: str = ""


def out_of_fold(kind: str, table: pd.DataFrame, split: str = "fold") -> pd.DataFrame:
    """Forecasts of every run by a predictor that has not seen it: `mean`, `sigma`, `low`, `high`, `far`.

    split   the column whose values are left out one after the other: fold or domain
    """
    usable = table[predictors.get(kind)().usable(table)] if len(table) else table
    parts = []
    for value in sorted(usable[split].unique()) if len(usable) else []:
        mine, rest = usable[usable[split] == value], usable[usable[split] != value]
        if len(rest) < 5:
            continue
        predictor = predictors.get(kind)()
        predictor.fit(rest)
        parts.append(_with_forecast(mine, predictor))
    if parts:
        return pd.concat(parts)
    columns = dict.fromkeys(("run", "time", "grokked", "observed", "domain", *usable.columns, *FORECAST))
    return usable.iloc[:0].reindex(columns=list(columns))


def _with_forecast(table: pd.DataFrame, predictor: Predictor) -> pd.DataFrame:
    forecast = predictor.predict(table)
    tail = (1 - INTERVAL) / 2
    return table.assign(
        mean=forecast.mean,
        sigma=forecast.sigma,
        middle=forecast.quantile(0.5),
        low=forecast.quantile(tail),
        high=forecast.quantile(1 - tail),
        far=forecast.far,
    )


def horizon_of(table: pd.DataFrame) -> float:
    """The epoch of "will it grok by": by it about half of the runs have, and the others were observed."""
    censored = table.loc[~table["grokked"], "time"]
    median = float(table.loc[table["grokked"], "time"].median())
    return min(median, float(censored.min())) if len(censored) else median


def first_multiple(kind: str, tables: dict[float, pd.DataFrame]) -> float | None:
    """The first epoch of observation at which enough of the runs that ever have the features of a predictor have them; None if too
    few runs do."""
    usable = {multiple: set(_usable(kind, table)["run"]) for multiple, table in tables.items() if len(table)}
    ever = set().union(*usable.values())
    return next((at for at, runs in usable.items() if len(runs) >= max(FEWEST, ENOUGH * len(ever))), None)


def common_runs(kinds: Sequence[str], tables: dict[float, pd.DataFrame]) -> tuple[float, set[str]]:
    """The first epoch of observation at which all of these predictors can be scored, and the runs that have all their features
    then."""
    at = max(first_multiple(kind, tables) or 0.0 for kind in kinds)
    table = tables[at]
    for kind in kinds:
        table = _usable(kind, table)
    return at, set(table["run"])


def _usable(kind: str, table: pd.DataFrame) -> pd.DataFrame:
    return table[predictors.get(kind)().usable(table)]


def evaluate(
    pool: dict[str, Results], kinds: Iterable[str] | None = None, horizon: float | None = None
) -> tuple[list[Score], float]:
    """The score of every predictor, or of some, under both protocols and on both sets of runs, and the horizon. The common runs are
    those of all predictors that can be scored, also where some are asked for."""
    tables = {multiple: table_at(pool, multiple) for multiple in MULTIPLES}
    first = tables[MULTIPLES[0]]
    by = horizon_of(first) if horizon is None else horizon
    begins = {kind: at for kind in predictors.entries() if (at := first_multiple(kind, tables)) is not None}
    together, runs = common_runs(list(begins), tables) if begins else (0.0, set())
    shared = {multiple: table[table["run"].isin(runs)] for multiple, table in tables.items() if len(table)}
    scores = []
    for kind in kinds or predictors.entries():
        if kind not in begins:
            continue
        for protocol, split in PROTOCOLS.items():
            sets: dict[On, tuple[float, dict[float, pd.DataFrame]]] = {
                "common": (together, shared),
                "own": (begins[kind], tables),
            }
            for on, (at, given) in sets.items():
                observed = {m: out_of_fold(kind, table, split) for m, table in given.items() if m >= at}
                if len(observed.get(at, ())) >= FEWEST:
                    scores.append(_score(kind, protocol, on, at, observed, by))
    return scores, by


def _score(
    kind: str,
    protocol: str,
    on: On,
    at: float,
    observed: dict[float, pd.DataFrame],
    by: float,
) -> Score:
    table = observed[at]
    time, grokked = table["time"].to_numpy(float), table["grokked"].to_numpy(bool)
    middle = table["middle"].to_numpy(float)
    ratio = middle[grokked] / time[grokked]
    inside = (table["low"] <= time) & (time <= table["high"])
    covered = np.where(grokked, inside, table["high"] >= time)
    return Score(
        predictor=kind,
        protocol=protocol,
        on=on,
        at=at,
        runs=len(table),
        auroc=auroc(chance(table, by), grokked & (time <= by)),
        error=float(np.median(np.abs(np.log(ratio)))) if len(ratio) else np.nan,
        mape=float(100 * np.mean(np.abs(ratio - 1))) if len(ratio) else np.nan,
        rho=float(spearmanr(middle, np.where(grokked, time, time.max() + 1)).statistic) if np.ptp(middle) else np.nan,
        within=rank_within(table),
        coverage=float(np.mean(covered)),
        lead=lead_time(observed, by),
        public=predictors.get(kind).public,
    )


def rank_within(table: pd.DataFrame) -> float:
    """Spearman's ρ between forecast and time over the seeds of each domain, averaged over domains; NaN without one."""
    found = []
    for _, own in table.groupby("domain"):
        if own["grokked"].sum() >= 8 and np.ptp(own["middle"]) > 0:
            time = np.where(own["grokked"], own["time"], own["time"].max() + 1)
            found.append(float(spearmanr(own["middle"], time).statistic))
    return float(np.mean(found)) if found else float("nan")


def chance(table: pd.DataFrame, by: float) -> NDArray[np.float64]:
    """The probability of generalising by an epoch that each run's forecast gives."""
    mean, sigma = table["mean"].to_numpy(float), table["sigma"].to_numpy(float)
    forecast = Forecast(mean, sigma, table["observed"].to_numpy(float), np.zeros(len(table)))
    return forecast.by(by)


def auroc(score: NDArray[np.float64], label: NDArray[np.bool_]) -> float:
    """Probability that a positive has the higher score, ties counting half; NaN without positives or without negatives."""
    positives, negatives = int(label.sum()), int((~label).sum())
    if not positives or not negatives:
        return float("nan")
    return float((rankdata(score)[label].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def lead_time(observed: dict[float, pd.DataFrame], by: float) -> float:
    """See `Score.lead`. An alarm is a probability of generalising by the horizon above a threshold: the smallest one at which at
    most 5 % of the runs that do not generalise by the horizon ever raise it."""
    rows = [
        pd.DataFrame(
            {
                "run": table["run"],
                "observed": table["observed"],
                "time": table["time"],
                "hit": table["grokked"] & (table["time"] <= by),
                "score": chance(table, by),
            }
        )
        for table in observed.values()
        if len(table)
    ]
    if not rows:
        return float("nan")
    every = pd.concat(rows)
    every = every[every["observed"] < by]
    silent = every[~every["hit"]].groupby("run")["score"].max()
    hits = every[every["hit"]]
    if silent.empty or hits.empty:
        return float("nan")
    threshold = np.quantile(silent, 1 - FALSE_ALARMS, method="higher")
    first = hits[hits["score"] > threshold].groupby("run")["observed"].min()
    times = hits.groupby("run")["time"].first()
    return float((times - first.reindex(times.index)).fillna(0.0).median())
