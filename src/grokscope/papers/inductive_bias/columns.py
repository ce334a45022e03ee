"""Numbers of each run that the rules of the inductive-bias experiments compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...experiments.columns import column
from ...thresholds import reaches

if TYPE_CHECKING:
    from ...store.results import Results

MEMORISED, GENERALISED = 0.95, 0.5
"""A checkpoint waits if its training accuracy has reached the first and its test accuracy has not reached the second."""


def waiting(table: pd.DataFrame) -> pd.DataFrame:
    """The checkpoints of a probe that have memorised and not generalised, in order."""
    own = table[reaches(table["train_accuracy"], MEMORISED) & ~reaches(table["test_accuracy"], GENERALISED)]
    return own.sort_values(["run", "epoch"])


# ── attention ────────────────────────────────────────────────────────────────────────────────────────────────


@column("entropy_mem")
def entropy_at_memorisation(results: Results) -> pd.Series:
    """Mean entropy of attention at the evaluation nearest to the first one with 99 % training accuracy."""
    curves = _with_times(results)
    nearest = (curves["epoch"] - curves["t_mem_first_99"]).abs().groupby(curves["run"]).idxmin()
    return curves.loc[nearest].set_index("run")["entropy"]


@column("entropy_wait")
def entropy_while_waiting(results: Results) -> pd.Series:
    """Mean over epochs of the entropy of attention, from memorisation until test accuracy reaches 50 % (trapezoidal rule)."""
    curves = _with_times(results)
    own = curves[(curves["epoch"] >= curves["t_mem_first_99"]) & ~reaches(curves["test_accuracy"], GENERALISED)]
    means = {run: _mean_over_epochs(rows) for run, rows in own.groupby("run")}
    return pd.Series(means, dtype=float)


def _with_times(results: Results) -> pd.DataFrame:
    return results.curves.merge(results.runs[["run", "t_mem_first_99"]].dropna(), on="run")


def _mean_over_epochs(own: pd.DataFrame) -> float:
    step = own["epoch"].diff().iloc[1:]
    middle = own["entropy"].rolling(2).mean().iloc[1:]
    return float((middle * step).sum() / step.sum()) if len(step) else float("nan")


# ── shortcuts ────────────────────────────────────────────────────────────────────────────────────────────────


@column("distractor_reliance")
def distractor_reliance(results: Results) -> pd.Series:
    """Training accuracy that is lost when distractors come from another example, at the first checkpoint that waits."""
    table = results.probes["shortcut"].pivot_table(index=["run", "epoch"], columns=["side", "kept"], values="accuracy")
    flat = pd.DataFrame(
        {
            "train_accuracy": table["train", "everything"],
            "test_accuracy": table["test", "everything"],
            "lost": table["train", "everything"] - table["train", "operands"],
        }
    ).reset_index()
    return waiting(flat).groupby("run")["lost"].first()


@column("equal_norm_lost")
def lost_at_equal_norms(results: Results) -> pd.Series:
    """Training accuracy that is lost when every MLP input has the mean norm: mean over the checkpoints that wait."""
    return _rescaled(results, "accuracy", "equal", -1)


@column("unit_norm_lost")
def lost_at_unit_norms(results: Results) -> pd.Series:
    """The same with norm 1."""
    return _rescaled(results, "accuracy", "unit", -1)


@column("unit_norm_loss")
def loss_at_unit_norms(results: Results) -> pd.Series:
    """By how much the training loss rises when every MLP input has norm 1: mean over the checkpoints that wait."""
    return _rescaled(results, "cross_entropy", "unit", 1)


def _rescaled(results: Results, what: str, norm: str, sign: int) -> pd.Series:
    found = results.probes["input-norm"]
    wide = found.pivot_table(index=["run", "epoch"], columns=["side", "norm"], values=["accuracy", "cross_entropy"])
    flat = pd.DataFrame(
        {
            "train_accuracy": wide["accuracy", "train", "own"],
            "test_accuracy": wide["accuracy", "test", "own"],
            "changed": sign * (wide[what, "train", norm] - wide[what, "train", "own"]),
        }
    ).reset_index()
    return waiting(flat).groupby("run")["changed"].mean()


# ── features and kernels ─────────────────────────────────────────────────────────────────────────────────────


@column("likeness")
def likeness(results: Results) -> pd.Series:
    """CKA of the hidden layer with its start, at the last checkpoint that has not reached 50 % test accuracy."""
    return _unmoved(results).groupby("run")["hidden_start"].last()


@column("stillest")
def stillest(results: Results) -> pd.Series:
    """The highest CKA of the hidden layer at two checkpoints in a row while test accuracy is below 50 %, after the first."""
    own = _unmoved(results)
    return own[own.groupby("run").cumcount() > 0].groupby("run")["hidden_previous"].max()


@column("moved_before")
def moved_before(results: Results) -> pd.Series:
    """Share of the way of the hidden layer, 1 − CKA with the start, that lies behind it at the last checkpoint below 50 % test
    accuracy; of runs that generalise."""
    table = results.probes["features"].sort_values(["run", "epoch"])
    end = table.groupby("run")[["hidden_start", "test_accuracy"]].last()
    way = (1 - end["hidden_start"])[reaches(end["test_accuracy"], 0.95)]
    return ((1 - likeness(results)) / way).dropna()


def _unmoved(results: Results) -> pd.DataFrame:
    table = results.probes["features"].sort_values(["run", "epoch"])
    return table[~reaches(table["test_accuracy"], GENERALISED) & (table["epoch"] > 0)]


@column("kernel_start")
def kernel_from_start(results: Results) -> pd.Series:
    """Distance of the tangent kernel from its start, 1 − alignment, at the last checkpoint that waits."""
    return waiting(results.probes["ntk"]).groupby("run")["start"].last()


@column("kernel_drift")
def kernel_drift(results: Results) -> pd.Series:
    """‖K − K₀‖/‖K₀‖ of the sum of the logits (the authors' number), mean over the checkpoints that wait."""
    return waiting(results.probes["ntk"]).groupby("run")["relative"].mean()


@column("kernel_stillest")
def kernel_stillest(results: Results) -> pd.Series:
    """The least distance of the tangent kernel between two checkpoints in a row that both wait."""
    own = waiting(results.probes["ntk"])
    return own[own.groupby("run").cumcount() > 0].groupby("run")["previous"].min()


@column("kernel_moved_before")
def kernel_moved_before(results: Results) -> pd.Series:
    """Share of the tangent kernel's final distance from its start that lies behind it at the last checkpoint that waits; of runs
    that generalise."""
    table = results.probes["ntk"].sort_values(["run", "epoch"])
    end = table.groupby("run")[["start", "test_accuracy"]].last()
    way = end["start"][reaches(end["test_accuracy"], 0.95)]
    return (kernel_from_start(results) / way).dropna()


# ── compressibility ──────────────────────────────────────────────────────────────────────────────────────────


@column("t_compressed")
def time_of_compression(results: Results) -> pd.Series:
    """First checkpoint at which the effective rank of the pre-logits on training inputs has fallen to half of its largest value
    since memorisation. The authors take the epoch from which it is within 10 % of its least value, which depends on how long
    a run is trained."""
    table = results.probes["prelogits"].sort_values(["run", "epoch"])
    own = table[reaches(table["train_accuracy"], MEMORISED)]
    rank = own["effective_rank_train"]
    fallen = own[rank <= rank.groupby(own["run"]).cummax() / 2]
    return fallen.groupby("run")["epoch"].first()
