"""Numbers of each run that the rules of grokking tickets compare, from the table of runs, its curves and probes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from ...experiments.base import Case
from ...experiments.clocks import FIRST_95, MEMORISED_95, NotRunError
from ...experiments.columns import Compute, column
from ...experiments.rules import Sooner

if TYPE_CHECKING:
    from ...store.results import Results


def _times(runs: pd.DataFrame, column: str) -> pd.Series:
    if column not in runs:
        raise NotRunError(f"column {column}")
    return pd.to_numeric(runs[column]).astype("Float64").astype(float)


def _probed(results: Results, name: str) -> pd.DataFrame:
    """The table of a probe; one without rows, as where every run diverged, has no columns either."""
    table = results.probes.get(name)
    if table is None or table.empty:
        raise NotRunError(f"probe {name}")
    return table


# ── Table 1 ──────────────────────────────────────────────────────────────────────────────────────────────────────

EPOCHS = (600, 1000, 1400, 2000)
"""Of Table 1, counted from the memorised solution."""


def accuracy_at(results: Results, epoch: int) -> pd.Series:
    """Test accuracy of every run at an evaluation; runs without one there are missing."""
    there = results.curves[results.curves["epoch"] == epoch]
    return there.drop_duplicates("run").set_index("run")["test_accuracy"].astype(float)


def _accuracy(epoch: int) -> Compute:
    def compute(results: Results) -> pd.Series:
        return accuracy_at(results, epoch)

    return compute


for _epoch in (0, *EPOCHS):
    column(f"accuracy_{_epoch}")(_accuracy(_epoch))


@column("gain")
def gain(results: Results) -> pd.Series:
    """Test accuracy at 2,000 epochs, less that of the network whose weights the run starts from, on the same test set: of the
    run of the arm WD with the same start, split and seed before its first step."""
    after, before = accuracy_at(results, EPOCHS[-1]), accuracy_at(results, 0)
    runs = results.runs.assign(start=results.runs["arm"].str.partition(", ")[2])
    unpruned = runs[runs["arm"].str.partition(", ")[0] == "WD"].set_index(["start", "seed"])["run"].map(before)
    own = pd.MultiIndex.from_frame(runs[["start", "seed"]])
    found = runs["run"].map(after).to_numpy(dtype=float) - unpruned.reindex(own).to_numpy(dtype=float)
    gains = pd.Series(found, runs["run"].to_numpy())
    return gains[~gains.index.duplicated()]


# ── structure ────────────────────────────────────────────────────────────────────────────────────────────────────

LAYERS = ("W_E", "W_in", "W_out", "W_U", "all")
"""Of the MLP of Eq. 1; "all" prunes all weights together."""
TOP = 0.25
GAIN = 0.05
"""Runs whose test accuracy never gains so much between two checkpoints show no transition."""


def _intervals(results: Results, layer: str) -> dict[str, pd.DataFrame]:
    """Of each run that has a transition: the intervals between checkpoints after memorisation."""
    table = _probed(results, "jaccard")
    memorised = _times(results.runs.set_index("run"), MEMORISED_95.time)
    found = {}
    for run, own in table[table["layer"] == layer].groupby("run"):
        after = own[own["previous"] >= memorised[run]]
        if len(after) >= 4 and after["accuracy_change"].max() >= GAIN:
            found[str(run)] = after
    return found


def _together(layer: str) -> Compute:
    def compute(results: Results) -> pd.Series:
        flags = {}
        for run, own in _intervals(results, layer).items():
            rank = own["distance"].rank(ascending=False)[own["accuracy_change"].idxmax()]
            flags[run] = float(rank <= max(1, round(TOP * len(own))))
        return pd.Series(flags, dtype=float)

    return compute


def _correlation(layer: str) -> Compute:
    def compute(results: Results) -> pd.Series:
        own = _intervals(results, layer)
        found = {run: spearmanr(t["distance"], t["accuracy_change"]).statistic for run, t in own.items()}
        return pd.Series(found, dtype=float)

    return compute


for _layer in LAYERS:
    column(f"together, {_layer}")(_together(_layer))
    column(f"rank correlation, {_layer}")(_correlation(_layer))


def _excess(layer: str) -> Compute:
    def compute(results: Results) -> pd.Series:
        table = _probed(results, "mask-entropy")
        return table[table["layer"] == layer].set_index("run")["excess"].astype(float)

    return compute


SIDES = ("W_E", "W_U")
for _layer in SIDES:
    column(f"mask entropy, {_layer}")(_excess(_layer))


# ── tickets by epoch: one network is one unit ────────────────────────────────────────────────────────────────────

TAKEN = "ticket at "
"""First words of the arms whose tickets are taken at a numbered epoch of the run of the arm dense."""


def taken(runs: pd.DataFrame, *, after: bool) -> pd.DataFrame:
    """The tickets taken before or after the dense run of their seed generalised, with their times as numbers."""
    timed = runs.assign(time=_times(runs, FIRST_95.time))
    dense = timed[timed["arm"] == "dense"].set_index("seed")["time"]
    tickets = timed[timed["arm"].str.startswith(TAKEN)]
    is_after = tickets["ticket.epoch"].astype(float) >= tickets["seed"].map(dense).fillna(np.inf)
    return tickets[is_after if after else ~is_after]


@column("early tickets that generalise")
def early_share(results: Results) -> pd.Series:
    """Of each dense run: the share of its tickets taken before it generalised that reach 95 % test accuracy."""
    early = taken(results.runs, after=False)
    share = early["time"].notna().groupby(early["seed"]).mean()
    dense = results.runs[results.runs["arm"] == "dense"]
    return dense.set_index("run")["seed"].map(share).astype(float)


LATE = "tickets taken after"


def late_tickets(results: Results) -> Sequence[Case]:
    """The tickets of each network that were taken after it generalised, by the median of their times, against the network "
    "itself."""
    late = taken(results.runs, after=True)
    time = late["time"].fillna(np.inf).groupby(late["seed"]).median()
    columns = {FIRST_95.time: time.where(np.isfinite(time)), "epoch": late["epoch"].groupby(late["seed"]).max()}
    one = pd.DataFrame(columns).rename_axis("seed").reset_index().assign(arm=LATE)
    dense = results.runs[(results.runs["arm"] == "dense") & results.runs["seed"].isin(time.index)]
    both = pd.concat([one, dense[one.columns].astype({FIRST_95.time: float})], ignore_index=True)
    return Sooner(LATE, "dense", FIRST_95).found(results._replace(runs=both))
