"""Numbers of each run that the claims about structural inference compare, computed from its curves or its probes.

Plateau: from t_mem to t_c, where the attention gradient returns, or to t_grok where it does not (`analysis/phases.py`). Values
between two evaluations are interpolated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...experiments.columns import column, explained

if TYPE_CHECKING:
    from ...store.results import Results

FEWEST = 5
"""Evaluations that a slope takes."""


def per_run(results: Results, compute: Callable[[pd.Series, pd.DataFrame], float]) -> pd.Series:
    """`compute` of each run's row and curve, indexed by the run's id."""
    curves = dict(list(results.curves.groupby("run")))
    rows = results.runs.drop_duplicates("run").set_index("run")
    return pd.Series({run: compute(row, curves[run]) for run, row in rows.iterrows() if run in curves}, dtype=float)


def at(curve: pd.DataFrame, name: str, epoch: float) -> float:
    """A metric at an epoch."""
    if name not in curve or pd.isna(epoch):
        return np.nan
    return float(np.interp(epoch, curve["epoch"].to_numpy(float), curve[name].to_numpy(float)))


def plateau(row: pd.Series) -> tuple[float, float]:
    """Its first and last epoch; NaN where a run has none."""
    end = row["t_c"] if pd.notna(row["t_c"]) else row["t_grok"]
    known = pd.notna(row["t_mem"]) and pd.notna(end) and end > row["t_mem"]
    return (float(row["t_mem"]), float(end)) if known else (np.nan, np.nan)


def _log_ratio(first: float, second: float) -> float:
    return float(np.log(second / first)) if first > 0 and second > 0 else np.nan


@column("change of the logit variance")
def variance_change(results: Results) -> pd.Series:
    """log of Var(ℓ) at the end of the plateau over Var(ℓ) at t_mem (Conj. E.1)."""

    def change(row: pd.Series, curve: pd.DataFrame) -> float:
        start, end = plateau(row)
        return _log_ratio(at(curve, "logit_variance", start), at(curve, "logit_variance", end))

    return per_run(results, change)


@column("change of the entropy")
def entropy_change(results: Results) -> pd.Series:
    """H(α) at the end of the plateau minus H(α) at t_mem, in nats (Conj. E.1)."""

    def change(row: pd.Series, curve: pd.DataFrame) -> float:
        start, end = plateau(row)
        return at(curve, "entropy", end) - at(curve, "entropy", start)

    return per_run(results, change)


@column("exponent of the gradient in the loss")
def gradient_exponent(results: Results) -> pd.Series:
    """s of ‖∂CE/∂M‖ ∝ CE^s by least squares on logarithms, from t_mem to the end of the plateau (Lemma 5.1 says ½)."""

    def slope(row: pd.Series, curve: pd.DataFrame) -> float:
        start, end = plateau(row)
        own = curve[(curve["epoch"] >= start) & (curve["epoch"] <= end)]
        own = own[(own["grad_M"] > 0) & (own["train_loss"] > 0)]
        if len(own) < FEWEST or np.ptp(loss := np.log(own["train_loss"].to_numpy(float))) == 0:
            return np.nan
        return float(np.polyfit(loss, np.log(own["grad_M"].to_numpy(float)), 1)[0])

    return per_run(results, slope)


@column("log10 of the fall of the attention gradient")
def log_fall(results: Results) -> pd.Series:
    """log10 of the lowest ‖∂CE/∂M‖ between t_mem and t_grok over its peak."""
    rows = results.runs.drop_duplicates("run").set_index("run")
    return np.log10(pd.to_numeric(rows["gradient_fall"]).astype(float))


@column("log10 of the largest ratio to the bound")
def log_ratio(results: Results) -> pd.Series:
    """log10 of measured over bound (Lemma 5.1, tight form), at the evaluation and example where it is largest."""
    rows = results.runs.drop_duplicates("run").set_index("run")
    return np.log10(pd.to_numeric(rows["bound_ratio"]).astype(float).clip(lower=1e-12))


@column("log10 change of the ratio at memorisation")
def ratio_change(results: Results) -> pd.Series:
    """log10 of the median measured/bound from t_mem to the end of the plateau, minus that before t_mem."""

    def change(row: pd.Series, curve: pd.DataFrame) -> float:
        start, end = plateau(row)
        before = curve.loc[curve["epoch"] < start, "bound_ratio"]
        after = curve.loc[(curve["epoch"] >= start) & (curve["epoch"] <= end), "bound_ratio"]
        if not len(before) or not len(after):
            return np.nan
        return _log_ratio(float(before.median()), float(after.median())) / np.log(10)

    return per_run(results, change)


@column("attention gradient returned")
def resurged(results: Results) -> pd.Series:
    """1 where the phase rule finds a resurgence, 0 where it does not; missing for runs that did not grok."""
    rows = results.runs.drop_duplicates("run").set_index("run")
    return rows["t_c"].notna().astype(float).where(rows["t_grok"].notna())


@column("train loss rose by 1 %")
def rose(results: Results) -> pd.Series:
    """1 where the train loss rises by 1 % or more between its minimum on the plateau and t_grok; missing without grokking."""
    return _bump(results, 1.01)


@column("train loss rose by 10 %")
def rose_visibly(results: Results) -> pd.Series:
    """The same by 10 % or more."""
    return _bump(results, 1.1)


def _bump(results: Results, least: float) -> pd.Series:
    bump = pd.to_numeric(results.runs.drop_duplicates("run").set_index("run")["loss_bump"]).astype(float)
    return (bump >= least).astype(float).where(bump.notna())


@column("log change of the MLP norm")
def norm_change(results: Results) -> pd.Series:
    """log of the MLP norm at t_grok over that at t_mem; missing for runs that did not grok after memorising."""
    rows = results.runs.drop_duplicates("run").set_index("run")
    norm = {when: pd.to_numeric(rows[f"mlp_norm_{when}"]).astype(float) for when in ("mem", "grok")}
    later = pd.to_numeric(rows["t_grok"]).astype(float) > pd.to_numeric(rows["t_mem"]).astype(float)
    return np.log(norm["grok"] / norm["mem"]).where(later)


explained["log change of the MLP norm"] = lambda results, arm: "none of its runs groks after memorising"


@column("symbols")
def symbols(results: Results) -> pd.Series:
    """How many symbols distractors are drawn from; for the operand vocabulary all p."""
    rows = results.runs.drop_duplicates("run").set_index("run")
    return pd.to_numeric(rows["task.alphabet"], errors="coerce").fillna(np.inf)


@column("D at memorisation, MLP norm removed")
def divergence_left(results: Results) -> pd.Series:
    """Rank of D at t_mem within its arm, less what the rank of the MLP norm at t_mem predicts of it (partial rank correlation)."""
    rows = results.runs.drop_duplicates("run").set_index("run")
    known = rows[rows["D_mem"].notna() & rows["mlp_norm_mem"].notna()]
    left = []
    for _, own in known.groupby("arm", sort=False):
        d, norm = (pd.to_numeric(own[name]).rank().to_numpy(float) for name in ("D_mem", "mlp_norm_mem"))
        slope = np.polyfit(norm, d, 1)[0] if len(own) > 2 and np.ptp(norm) > 0 else 0.0
        left.append(pd.Series(d - slope * norm, index=own.index))
    return pd.concat(left) if left else pd.Series(dtype=float)


@column("summed mass at the end")
def summed_mass(results: Results) -> pd.Series:
    """Attention on the least covered informative position, summed over heads (Eq. 55), at the last evaluation."""
    rows = results.runs.drop_duplicates("run").set_index("run")
    heads = pd.to_numeric(rows["model.heads"]) if "model.heads" in rows else pd.Series(1, rows.index)
    return per_run(results, lambda row, curve: float(curve["mass_mean"].iloc[-1])) * heads


@column("mass of the best head at the end")
def best_head(results: Results) -> pd.Series:
    """The same of the one head that covers its least covered informative position best; with one head, of that."""

    def mass(row: pd.Series, curve: pd.DataFrame) -> float:
        several = "mass_best_head" in curve and pd.notna(curve["mass_best_head"].iloc[-1])
        return float(curve["mass_best_head" if several else "mass_mean"].iloc[-1])

    return per_run(results, mass)


def _at_length(results: Results, longer: int) -> pd.Series:
    """Test accuracy of the last checkpoint on sequences with this many further tokens."""
    table = results.probes["lengths"]
    last = table[table["epoch"] == table.groupby("run")["epoch"].transform("max")]
    shortest = last.groupby("run")["length"].transform("min")
    return last[last["length"] == shortest + longer].set_index("run")["accuracy"]


@column("accuracy in length")
def in_length(results: Results) -> pd.Series:
    """At the length of training, at the last epoch."""
    return _at_length(results, 0)


@column("accuracy at 2 more")
def two_longer(results: Results) -> pd.Series:
    """At two tokens more than in training, at the last epoch."""
    return _at_length(results, 2)


@column("accuracy at 6 more")
def six_longer(results: Results) -> pd.Series:
    """At six tokens more than in training, at the last epoch."""
    return _at_length(results, 6)


@column("D at 10 % test accuracy")
def divergence_at_rise(results: Results) -> pd.Series:
    """D when test accuracy first passes 10 %, between two evaluations by interpolation; missing for runs that did not grok."""

    def found(row: pd.Series, curve: pd.DataFrame) -> float:
        accuracy = curve["test_accuracy"].to_numpy(float)
        above = np.flatnonzero(accuracy >= 0.1)
        if pd.isna(row["t_grok"]) or not len(above):
            return np.nan
        place, epoch = int(above[0]), curve["epoch"].to_numpy(float)
        if place == 0:
            return float(curve["D"].iloc[0])
        share = (0.1 - accuracy[place - 1]) / (accuracy[place] - accuracy[place - 1])
        return at(curve, "D", epoch[place - 1] + share * (epoch[place] - epoch[place - 1]))

    return per_run(results, found)
