"""From stored runs to results: one row per run with everything a rule may ask for, and curves thinned for pictures.

Times and phases are found at full resolution, by the criterion that `about.json` names. Results without that entry are
older: their times are those of the first touch.

Columns of the table of runs besides settings and those of `measured`:

run            id of the run
arm            name of its arm
status         grokked, done, diverged …
seconds        seconds of training
steps          optimizer steps taken
step_seconds   the run's share of the seconds that its fleet spent on steps
epochs_before  epochs trained elsewhere before it could start: its teacher's, and those that its ticket took to find
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..analysis import DEFAULT, FIRST_TOUCH, Criterion, Phases, find_phases, run_times, times_of
from ..analysis.times import ClockName, stable_time
from ..config import RunConfig, read_stored
from ..config.references import origins
from ..figures import RunCurves
from ..settings import flatten
from ..store import RunInfo, read_metrics
from ..tasks import score_name
from ..tickets.base import FromRun
from .clocks import THRESHOLDS, column_of
from .collected import Finished, collect_named

if TYPE_CHECKING:
    from ..store.results import Results

POINTS = 90
"""Rows kept of each run's curve, spaced evenly in log epoch."""
CLOSER = 30
"""Further rows between half the time of grokking and the time itself, spaced evenly: a short rise should not be missed."""
BITS = 13
"""Low bits of float32 that are cut off: what is left is good to 0.05 %, and packs three times as well."""
STORED = ("epoch", "train_accuracy", "test_accuracy", "train_loss", "test_loss", "D", "mlp_norm")
"""Metrics whose curves every experiment stores. An experiment names further ones in `curves`: all of them would fill three times
as much space, and few are looked at."""

TOUCHED: tuple[ClockName, ...] = ("first", "held")


def run_rows(
    runs: Sequence[RunInfo],
    arms: Sequence[str],
    criterion: Criterion = DEFAULT,
    thresholds: Sequence[float] = (),
    collected: Sequence[str] = (),
    curves: Collection[str] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of runs and the thinned curves.

    thresholds   accuracies at which the clocks are taken besides 99 % and 95 %
    collected    registered numbers that become columns as well; see `collected.py`
    curves       metrics whose curves are kept besides those of STORED; None keeps all
    """
    rows, thinned = [], []
    by_id = {run.id: run for run in runs}
    for run, arm in zip(runs, arms, strict=True):
        metrics = read_metrics(run).to_pandas()
        row = {"run": run.id, "arm": arm, "status": run.status, "seconds": run.seconds, **flatten(run.config)}
        row |= measured(metrics, criterion, thresholds) | _paid(run, metrics)
        row |= {"epochs_before": origin_epochs(run, by_id)}
        row |= collect_named(tuple(collected), Finished(run, metrics, by_id, tuple(collected)))
        rows.append(row)
        own = metrics if curves is None else metrics[[name for name in metrics if name in (*STORED, *curves)]]
        thinned.append(thin(own, row["t_grok"]).assign(run=run.id))
    table = pd.DataFrame(rows)
    usual = flatten(RunConfig().to_dict())
    # a setting that no run changes is left out: a rule that does not find one takes its default
    keep = [
        name for name in table if "." not in name or {str(value) for value in table[name]} != {str(usual.get(name))}
    ]
    return plain_columns(table[keep]), pd.concat(thinned, ignore_index=True)


def _paid(run: RunInfo, metrics: pd.DataFrame) -> dict[str, float]:
    """Optimizer steps of a run, and its share of the seconds that its fleet spent on them."""
    own = metrics[metrics["epoch"] >= run.manifest.get("parent", {}).get("epoch", 0)]  # before it, the parent's
    steps = own["epoch"].diff() * read_stored(run.config, run.id).steps_per_epoch
    return {"steps": int(steps.sum()), "step_seconds": float((steps * own["seconds_per_step"]).sum())}


def origin_epochs(run: RunInfo, by_id: Mapping[str, RunInfo]) -> int | None:
    """Epochs that were trained elsewhere before this run could start: its teacher's, and those that its ticket took to find.

    None where one of these runs is not in `by_id`: a picture may be of a ticket alone.
    """
    config = read_stored(run.config, run.id)
    spent = 0
    # the epochs before a branch are counted in its own
    for origin in map(by_id.get, origins(config) - {config.branch.run}):
        before = None if origin is None else origin_epochs(origin, by_id)
        if origin is None or before is None:
            return None
        own = origin.epoch
        if isinstance(config.ticket, FromRun) and config.ticket.run == origin.id and config.ticket.epoch != "last":
            epoch = config.ticket.epoch
            own = epoch if isinstance(epoch, int) else getattr(times_of(origin), epoch)
        spent += own + before
    return spent


def training_totals(runs: pd.DataFrame) -> dict[str, Any]:
    """Distinct runs, their optimizer steps, and the seconds that these took."""
    own = runs.drop_duplicates("run").reindex(columns=["run", "steps", "step_seconds"])
    return {
        "runs": len(own),
        "run_steps": int(own["steps"].sum()),
        "seconds": round(float(own["step_seconds"].sum()), 1),
    }


def priced(runs: pd.DataFrame, seconds_per_epoch: Mapping[str, float]) -> pd.DataFrame:
    """The table with a further column.

    seconds_per_epoch  seconds per epoch of a run that has the device to itself; of experiments that time their arms
    """
    return runs.assign(seconds_per_epoch=runs["arm"].map(seconds_per_epoch))


def counted(runs: pd.DataFrame, flops_per_epoch: Mapping[str, float]) -> pd.DataFrame:
    """The table with a further column.

    flops_per_epoch  floating-point operations of an epoch's matrix products; of experiments that count them
    """
    return runs.assign(flops_per_epoch=runs["arm"].map(flops_per_epoch))


def measured(metrics: pd.DataFrame, criterion: Criterion = DEFAULT, thresholds: Sequence[float] = ()) -> dict[str, Any]:
    """What is known of a run at full resolution: the times of `run_times` and

    epoch                last epoch
    t_first_{p}          first epoch with a test accuracy of p %
    t_held_{p}           first epoch from which it is held for the window
    t_stable_{p}         first epoch from which it is never lost again, in a run trained for at least as long after t_first_{p}
    t_mem_first_{p}      as t_first_{p}, of train accuracy
    t_mem_held_{p}       as t_held_{p}, of train accuracy
    t_mem_stable_{p}     as t_stable_{p}, of train accuracy
    t_c                  end of the plateau: the gradient on attention is back
    gradient_fall        lowest gradient on attention after t_mem, as a fraction of its peak before
    gradient_rise        largest rise of that gradient after t_mem, peak over valley
    loss_bump            largest train loss from its minimum on the plateau up to t_grok, over that minimum
    test_accuracy        test accuracy at the last evaluation
    best_test_accuracy   highest test accuracy
    train_accuracy       train accuracy at the last evaluation
    mlp_norm_mem         norm of the MLP at t_mem
    mlp_norm_grok        norm of the MLP at t_grok
    D_start              D at the first evaluation
    D_mem                D at t_mem
    D_end                D at the last evaluation
    t_fall               first epoch at which D has fallen to 1/e of its first value
    mass_worst_end       least attention on an informative token in the worst example, at the last evaluation
    bound_ratio          largest ratio of the attention gradient to its bound
    """
    times, phases = run_times(metrics, criterion), find_phases(metrics, criterion)
    last = metrics.iloc[-1]
    return {
        "epoch": int(last["epoch"]),
        **times.to_dict(),
        **every_clock(metrics, criterion.window, (*THRESHOLDS, *thresholds)),
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


def every_clock(
    metrics: pd.DataFrame, window: int = DEFAULT.window, thresholds: Sequence[float] = THRESHOLDS
) -> dict[str, int | None]:
    """The three clocks at every threshold, of test and of train accuracy; see `clocks`."""
    found: dict[str, int | None] = {}
    for split in ("test", "train"):
        epoch, accuracy = metrics["epoch"], metrics[f"{split}_accuracy"]
        for threshold in dict.fromkeys(thresholds):
            touched, held = (Criterion(threshold=threshold, clock=clock, window=window) for clock in TOUCHED)
            found[column_of("first", threshold, split)] = touched.time(epoch, accuracy)
            found[column_of("held", threshold, split)] = held.time(epoch, accuracy)
            found[column_of("stable", threshold, split)] = stable_time(epoch, accuracy, threshold, window)
    return found


def _attention(metrics: pd.DataFrame, t_mem: int | None) -> dict[str, Any]:
    """What is known of where a run looks, for models with attention."""
    last = metrics.iloc[-1]
    return {
        "D_start": float(metrics["D"].iloc[0]),
        "D_mem": _at(metrics, "D", t_mem),
        "D_end": float(last["D"]),
        "t_fall": fall_time(metrics),
        "mass_worst_end": float(last["mass_worst"]),
        "bound_ratio": float(metrics["bound_ratio"].max()),
    }


def fall_time(metrics: pd.DataFrame) -> int | None:
    """The first epoch at which D has fallen to 1/e of its first value; None if it never does."""
    down = metrics.loc[metrics["D"] <= metrics["D"].iloc[0] / np.e, "epoch"]
    return int(down.iloc[0]) if len(down) and metrics["D"].iloc[0] > 0 else None


def thin(metrics: pd.DataFrame, t_grok: int | None = None) -> pd.DataFrame:
    """At most POINTS rows, evenly spaced in log epoch, with the first and the last, and CLOSER more before grokking; float32."""
    kept = metrics
    if len(kept) > POINTS:
        wanted = np.geomspace(1, kept["epoch"].iloc[-1], POINTS)
        if t_grok is not None:
            wanted = np.concatenate([wanted, np.linspace(t_grok / 2, t_grok, CLOSER)])
        nearest = np.abs(kept["epoch"].to_numpy() - wanted[:, None]).argmin(1)
        kept = kept.iloc[np.unique([*nearest, 0, len(kept) - 1])]
    return pd.DataFrame({name: kept[name] if name == "epoch" else _short(kept[name].to_numpy()) for name in kept})


def _short(values: np.ndarray) -> np.ndarray:
    """float32 without its last BITS bits, rounded; what is not finite stays as it is."""
    single = values.astype(np.float32)
    whole = (single.view(np.uint32) + np.uint32(1 << (BITS - 1))) & ~np.uint32((1 << BITS) - 1)
    return np.where(np.isfinite(single), whole.view(np.float32), single)


def criterion_of(results: Results) -> Criterion:
    """What the stored times were found by: the first touch for results that do not say."""
    stored = results.about.get("criterion")
    return FIRST_TOUCH if stored is None else Criterion.from_dict(stored)


def curves_from(results: Results) -> list[RunCurves]:
    """The stored curves, ready to draw. Phases are those found at full resolution, not what the thinned curves would give."""
    groups = dict(list(results.curves.groupby("run")))
    criterion = criterion_of(results)
    rows = results.runs.to_dict("records")
    scores = {row["run"]: score_name(row) for row in rows}
    return [
        RunCurves(
            arm=row["arm"],
            seed=int(row["seed"]),
            metrics=groups[row["run"]],
            phases=phases.borders,
            t_mem=phases.t_mem,
            t_grok=phases.t_grok,
            branched=None if (after := _whole(row.get("epochs_after"))) is None else int(row["epoch"]) - after,
            criterion=criterion.describe(f"test {scores[row['run']]}"),
            score=scores[row["run"]],
            status=row.get("status", ""),
        )
        for row, phases in ((row, phases_from(row)) for row in rows)
    ]


def phases_from(row: Mapping[str, Any]) -> Phases:
    """The phases of a run from its row in the table of runs: what `find_phases` found in the whole run."""
    t_mem, t_c, t_grok = (_whole(row[name]) for name in ("t_mem", "t_c", "t_grok"))
    fall, rise, bump = (_known(row[name]) for name in ("gradient_fall", "gradient_rise", "loss_bump"))
    last = int(row["epoch"])
    return Phases(t_mem=t_mem, t_c=t_c, t_grok=t_grok, last_epoch=last, fall=fall, rise=rise, loss_bump=bump)


def _at(metrics: pd.DataFrame, column: str, epoch: int | None) -> float | None:
    return None if epoch is None else float(metrics.loc[metrics["epoch"] == epoch, column].iloc[0])


def _whole(value: Any) -> int | None:
    return None if pd.isna(value) else int(value)


def _known(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def plain_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Columns that Parquet can hold: mixed ones and lists become words."""
    for name in table:
        if table[name].dtype != object:
            continue
        types = set(table[name].map(type))
        if list in types or (len(types) > 1 and not table[name].map(_number).all()):
            table[name] = table[name].astype(str)
    return table.infer_objects()


def _number(value: Any) -> bool:
    return value is None or isinstance(value, (int, float))
