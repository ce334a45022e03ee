"""Runs to learn from: features and times out of committed results, at a multiple of each run's t_mem. Nothing is trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..analysis.plateau_features import features_at
from ..errors import StoreError
from ..store.results import load_results, stored_results

if TYPE_CHECKING:
    from ..store.results import Results

POOL = ("forecast-dial", "si-prediction", "si-dial")
"""Experiments whose runs are learned from, where they have results; the first one that has a run counts."""
FOLDS = 5
PROBE = "forecast"
DRIFT = "llc_drift"
"""Stored beside the learning coefficient. Without it the chains are of an earlier version, which read them before they had settled:
their value is not used."""


def fold_of(seed: int) -> int:
    """The fold of a seed, once and for all; a seed is in the same fold in every arm, since arms share data and initial weights."""
    return seed % FOLDS


def load_pool(folder: Path, scale: str = "full", names: Sequence[str] = POOL) -> dict[str, Results]:
    """The results of these experiments; StoreError if there are none."""
    there = {name for name, own in stored_results(folder) if own == scale} if folder.is_dir() else set()
    found = {name: load_results(folder, name, scale) for name in names if name in there}
    pool = {name: results for name, results in found.items() if results is not None}
    if not pool:
        raise StoreError(f"{folder}: no {scale} results of {', '.join(names)} to learn from")
    return pool


def table_at(pool: dict[str, Results], multiple: float = 1.0) -> pd.DataFrame:
    """One row per run that has memorised and has not generalised by `multiple` · t_mem: its features then, `time` (of t_grok, or of
    its last evaluation), `grokked`, `observed` (the epoch), `domain` (experiment and arm), `experiment`, `seed`, `fold`.

    Runs with a prior are left out: how a run waits that is told where to look is another question.
    """
    rows = [row for name, results in pool.items() for row in _rows(name, results, multiple)]
    table = pd.DataFrame(rows)
    return table.drop_duplicates("run", ignore_index=True) if len(table) else table


def _rows(name: str, results: Results, multiple: float) -> list[dict[str, object]]:
    curves = dict(list(results.curves.groupby("run")))
    probed = dict(list(results.probes[PROBE].groupby("run"))) if PROBE in results.probes else {}
    rows: list[dict[str, object]] = []
    for run in results.runs.drop_duplicates("run").to_dict("records"):
        if run.get("prior.beta", 0.0) not in (0.0, None) or pd.isna(run["t_mem"]) or run["run"] not in curves:
            continue
        grok = run.get("t_first_99", run["t_grok"])
        grokked = not pd.isna(grok)
        time = float(grok if grokked else run["epoch"])
        observed = multiple * max(float(run["t_mem"]), 1.0)
        if time <= observed:
            continue
        found: dict[str, object] = dict(features_at(curves[run["run"]], float(run["t_mem"]), observed))
        found |= _exact(probed.get(run["run"]), observed)
        if pd.notna(run.get("mlp_norm_grok")):
            found["log_norm_grok"] = float(np.log(run["mlp_norm_grok"]))
        rows.append(
            {
                "run": run["run"],
                "experiment": name,
                "domain": str(run["arm"]).removesuffix(", no prior"),
                "seed": int(run["seed"]),
                "fold": fold_of(int(run["seed"])),
                "time": time,
                "grokked": grokked,
                "observed": observed,
                "t_mem": float(run["t_mem"]),
                **found,
            }
        )
    return rows


def _exact(table: pd.DataFrame | None, observed: float) -> dict[str, object]:
    """Features that were stored at full resolution, each from its last observation up to the epoch: the learning coefficient is
    estimated once, at the first checkpoint."""
    if table is None:
        return {}
    if DRIFT not in table:
        table = table.drop(columns="llc", errors="ignore")
    seen = table[table["epoch"] <= observed * (1 + 1e-9)]
    if seen.empty:
        return {}
    last = seen.sort_values("epoch").ffill().iloc[-1].drop(["run", "arm", "seed", "epoch"], errors="ignore")
    return {str(name): float(value) for name, value in last.items() if pd.notna(value)}
