"""From stored runs to results: one row a run with everything a rule may ask for, and curves thinned for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..analysis import find_phases, run_times
from ..config import RunConfig
from ..figures import RunCurves
from ..fleet import pack
from ..probes import Stored, probes
from ..settings import flatten
from ..store import RunInfo, read_metrics

if TYPE_CHECKING:
    from ..store.results import Results

POINTS = 90
"""Rows kept of each run's curve, spaced evenly in log epoch."""
DROPPED = ("seconds", "seconds_per_step", "norm_", "logit_variance", "prior_loss")
"""Columns that no picture of an experiment needs."""


def run_rows(runs: Sequence[RunInfo], arms: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of runs and the thinned curves."""
    rows, curves = [], []
    for run, arm in zip(runs, arms, strict=True):
        metrics = read_metrics(run).to_pandas()
        settings = flatten(run.config)
        rows.append(
            {"run": run.id, "arm": arm, "status": run.status, "seconds": run.seconds, **settings, **measured(metrics)}
        )
        curves.append(thin(metrics).assign(run=run.id))
    table = pd.DataFrame(rows)
    keep = [name for name in table if "." not in name or table[name].astype(str).nunique() > 1]
    return _plain(table[keep]), pd.concat(curves, ignore_index=True)


def probe_tables(names: Sequence[str], runs: Sequence[RunInfo], arms: Sequence[str]) -> dict[str, pd.DataFrame]:
    """What each probe finds in the runs' checkpoints."""
    tables: dict[str, pd.DataFrame] = {}
    for name in names:
        looked = [
            probes.get(name)(Stored(run)).assign(run=run.id, arm=arm, seed=run.config["seed"])
            for run, arm in zip(runs, arms, strict=True)
        ]
        tables[name] = pd.concat(looked, ignore_index=True)
    return tables


def effort(configs: Sequence[RunConfig], runs: pd.DataFrame) -> dict[str, Any]:
    """Optimizer steps summed over runs, and seconds of training summed over fleets (a fleet lasts as long as its longest run)."""
    by_id = runs.set_index("run")
    fleets = pack([(config, config) for config in configs])
    return {
        "run_steps": int(sum(by_id.loc[c.id, "epoch"] * c.steps_per_epoch for c in configs)),
        "seconds": round(float(sum(max(by_id.loc[c.id, "seconds"] for c in fleet) for fleet in fleets)), 1),
    }


def measured(metrics: pd.DataFrame) -> dict[str, Any]:
    """What is known of a run at full resolution."""
    times, phases = run_times(metrics), find_phases(metrics)
    last = metrics.iloc[-1]
    return {
        "epoch": int(last["epoch"]),
        **times.to_dict(),
        "t_c": phases.t_c,
        "gradient_fall": phases.fall,
        "gradient_rise": phases.rise,
        "loss_bump": phases.loss_bump,
        "test_accuracy": float(last["test_accuracy"]),
        "best_test_accuracy": float(metrics["test_accuracy"].max()),
        "train_accuracy": float(last["train_accuracy"]),
        "mlp_norm_mem": _at(metrics, "mlp_norm", times.t_mem),
        "mlp_norm_grok": _at(metrics, "mlp_norm", times.t_grok),
        **(_attention(metrics, times.t_mem) if "D" in metrics else {}),
    }


def _attention(metrics: pd.DataFrame, t_mem: int | None) -> dict[str, Any]:
    """What is known of where a run looks, for models with attention."""
    last = metrics.iloc[-1]
    return {
        "D_start": float(metrics["D"].iloc[0]),
        "D_mem": _at(metrics, "D", t_mem),
        "D_end": float(last["D"]),
        "mass_worst_end": float(last["mass_worst"]),
        "bound_ratio": float(metrics["bound_ratio"].max()),
        "lead": lead(metrics),
    }


def lead(metrics: pd.DataFrame) -> float | None:
    """Epochs by which D passes halfway down (on a log scale) before test accuracy passes halfway up; None if either never does."""
    divergence, accuracy = metrics["D"].to_numpy(), metrics["test_accuracy"].to_numpy()
    epochs = metrics["epoch"].to_numpy()
    middle = np.sqrt(max(divergence[0], 1e-12) * max(divergence.min(), 1e-12))
    down = epochs[divergence <= middle]
    up = epochs[accuracy >= 0.5]
    if accuracy.max() < 0.95 or not len(down) or not len(up):
        return None
    return float(up[0] - down[0])


def thin(metrics: pd.DataFrame) -> pd.DataFrame:
    """At most POINTS rows, evenly spaced in log epoch, the first and the last included; float32."""
    kept = metrics[[name for name in metrics if not name.startswith(DROPPED)]]
    if len(kept) > POINTS:
        wanted = np.geomspace(1, kept["epoch"].iloc[-1], POINTS)
        nearest = {int(np.abs(kept["epoch"].to_numpy() - epoch).argmin()) for epoch in wanted}
        kept = kept.iloc[sorted(nearest | {0, len(kept) - 1})]
    return kept.astype({name: "float32" for name in kept if name != "epoch"})


def curves_from(results: Results) -> list[RunCurves]:
    """The stored curves, ready to draw."""
    groups = dict(list(results.curves.groupby("run")))
    return [
        RunCurves(
            arm=row["arm"],
            seed=int(row["seed"]),
            metrics=groups[row["run"]],
            phases=_phases(row),
            t_mem=_whole(row["t_mem"]),
            t_grok=_whole(row["t_grok"]),
        )
        for row in results.runs.to_dict("records")
    ]


def _phases(row: dict[str, Any]) -> list[tuple[str, int, int | None]]:
    borders = [
        ("memorisation", 0),
        ("plateau", _whole(row["t_mem"])),
        ("resurgence", _whole(row["t_c"])),
        ("grokking", _whole(row["t_grok"])),
    ]
    known = [(name, start) for name, start in borders if start is not None]
    ends = [start for _, start in known[1:]] + [int(row["epoch"])]
    return [(name, start, end) for (name, start), end in zip(known, ends, strict=True)]


def _at(metrics: pd.DataFrame, column: str, epoch: int | None) -> float | None:
    return None if epoch is None else float(metrics.loc[metrics["epoch"] == epoch, column].iloc[0])


def _whole(value: Any) -> int | None:
    return None if value is None or pd.isna(value) else int(value)


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """Columns that Parquet can hold: mixed ones become words."""
    for name in table:
        if table[name].dtype == object and table[name].map(type).nunique() > 1 and not table[name].map(_number).all():
            table[name] = table[name].astype(str)
    return table.infer_objects()


def _number(value: Any) -> bool:
    return value is None or isinstance(value, (int, float))
