"""Figures of runs for notebooks and scripts: `grokscope.plot.curves(runs)` and others.

Each function takes runs and returns a matplotlib figure, which a notebook shows and `figure.savefig("curves.pdf")` writes.

    runs = grokscope.train(config, seeds=3)
    grokscope.plot.curves(runs)                       # accuracy and D over epochs
    grokscope.plot.times("runs", by="prior.beta")     # grokking times of all runs in a folder
    grokscope.plot.metric(table, "mlp_norm")          # any column, also of a table of your own

Runs are a folder, a run, several runs (`train`, `list_runs`, `find_run`), a `Scope` of `grokscope.watch`, or a pandas table with
one row per evaluation: a column `epoch`, columns to draw, and, where it holds several runs, a column `run` (and `seed`). Its
arms are the column `arm`, the columns that `by` names, or the settings in which its runs differ, as in the table of `load_runs`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from .analysis import DEFAULT, Criterion, find_phases, summarise
from .conditions import Arms, arms_of
from .errors import ConfigError, nearest
from .figures import FigureSpec, RunCurves, figures
from .figures.curves import overlay_panels
from .figures.data import need, same_looks_of, short_position
from .figures.meanings import meanings_by_settings
from .figures.style import same_looks, styled, to_png
from .settings import flatten
from .store import RunInfo, list_runs
from .tasks import score_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["attention", "curves", "curves_of", "figure", "gradient", "metric", "norm", "times"]

Runs = Any
"""A folder, a run, runs, a scope, or a table; see above."""
NOT_SETTINGS = ("run", "status", "name", "seed", "epoch", "arm")


def __dir__() -> list[str]:
    return __all__


def curves(runs: Runs, *, by: str | Sequence[str] = (), criterion: Criterion = DEFAULT) -> Figure:
    """Train and test accuracy over epochs with D below, one column per arm, phases shaded.

    by          settings (or columns of a table) that distinguish arms; by default all in which the runs differ
    criterion   when a run counts as having memorised, and as having grokked
    """
    return figure("accuracy", runs, by=by, criterion=criterion)


def times(runs: Runs, *, by: str | Sequence[str] = (), criterion: Criterion = DEFAULT) -> Figure:
    """Grokking times: a dot per run, a triangle for one that has not grokked, a bar at the Kaplan–Meier median of each arm."""
    return figure("times", runs, by=by, criterion=criterion)


def attention(runs: Runs, *, by: str | Sequence[str] = (), criterion: Criterion = DEFAULT) -> Figure:
    """Where attention goes over epochs, position by position."""
    return figure("attention", runs, by=by, criterion=criterion)


def gradient(runs: Runs, *, by: str | Sequence[str] = (), criterion: Criterion = DEFAULT) -> Figure:
    """The task gradient that reaches attention, under its bounds (Lemma 5.1)."""
    return figure("gradient", runs, by=by, criterion=criterion)


def norm(runs: Runs, *, by: str | Sequence[str] = (), criterion: Criterion = DEFAULT) -> Figure:
    """The norm of the MLP over epochs; dots where runs grokked."""
    return figure("mlp-norm", runs, by=by, criterion=criterion)


def figure(name: str, runs: Runs, *, by: str | Sequence[str] = (), criterion: Criterion = DEFAULT) -> Figure:
    """Any registered figure of runs by name; `grokscope plot` lists them. Those of checkpoints, such as attention-map, need stored
    runs that kept some (`log.keep`)."""
    spec = figures.spec(name)
    if spec.takes == "results":
        return _shown(_of_checkpoints(spec, runs, by))
    data = curves_of(runs, by=by, criterion=criterion)
    if missing := spec.missing(data):
        raise ConfigError("figure", f"{name!r} needs {', '.join(missing)}, which no run recorded after epoch 0")
    with same_looks_of(data):
        return _shown(spec.draw_page(data, _medians(data)))


def _of_checkpoints(spec: FigureSpec, runs: Runs, by: str | Sequence[str]) -> Figure:
    """A figure of what probes find in the checkpoints of runs."""
    if not spec.needs:
        raise ConfigError(
            "figure", f"{spec.name!r} is drawn from the results of an experiment; see grokscope reproduce"
        )
    if isinstance(runs, pd.DataFrame) or hasattr(runs, "frame"):
        raise ConfigError("figure", f"{spec.name!r} is drawn from checkpoints: give stored runs, not a table")
    from .experiments.collect import run_rows
    from .experiments.probing import probe_tables
    from .report.settings import read_settings
    from .store.results import Results

    stored = _stored(runs)
    settings = read_settings(stored).values
    arms = arms_of(settings, [by] if isinstance(by, str) else list(by))
    table, thinned = run_rows(stored, arms.names)
    probed = probe_tables(spec.needs, stored, arms.names)
    if empty := next((name for name, found in probed.items() if found.empty), None):
        raise ConfigError(
            "figure", f"{spec.name!r} needs what probe {empty} finds, and in these runs it finds nothing{_why(empty)}"
        )
    with same_looks(list(arms.settings), meanings_by_settings(arms.names, [flatten(own) for own in settings])):
        found = {name: _named(own, stored) for name, own in probed.items()}
        return spec.draw(Results({}, table, thinned, found))


def _why(probe: str) -> str:
    """On which runs a probe finds nothing, if its docstring says so."""
    from .probes import probes

    said = re.search(r"No rows (for [^.]+)\.", " ".join((inspect.getdoc(probes.get(probe)) or "").split()))
    return f", as {said[1]}" if said else ""


def _named(table: pd.DataFrame, runs: Sequence[RunInfo]) -> pd.DataFrame:
    """A table with a row per position, with what the positions are called, where that is known."""
    from .report.settings import position_names, read_settings

    if "position" not in table:
        return table
    configs = dict(zip((run.id for run in runs), read_settings(runs).configs, strict=True))
    names = {run: position_names(config)[0] for run, config in configs.items() if config}
    if not all(names.get(run) for run in table["run"].unique()):
        return table
    called = [short_position(names[run][at]) for run, at in zip(table["run"], table["position"], strict=True)]
    return table.assign(name=called)


def metric(
    runs: Runs,
    column: str,
    *,
    by: str | Sequence[str] = (),
    log: bool = False,
    criterion: Criterion = DEFAULT,
) -> Figure:
    """One column over epochs, all arms in one panel; dots where runs grokked. `grokscope list columns` explains the columns.

    log   a log scale for the values
    """
    data = curves_of(runs, by=by, criterion=criterion)
    known = {str(name) for run in data for name in run.metrics.columns}
    if column not in known:
        raise ConfigError("column", f"no run has a column {column!r}. {nearest(column, known)}")
    need(data, column)
    with same_looks_of(data):
        return _shown(_metric(data, column, log))


@styled
def _metric(data: Sequence[RunCurves], column: str, log: bool) -> Figure:
    return overlay_panels(data, {column: column}, log=log)[0]


def curves_of(runs: Runs, *, by: str | Sequence[str] = (), criterion: Criterion = DEFAULT) -> list[RunCurves]:
    """The data of figures: one `RunCurves` per run, with its arm, times and phases. Arguments as in `curves`."""
    columns = [by] if isinstance(by, str) else list(by)
    if hasattr(runs, "frame") and hasattr(runs, "rows"):  # a scope
        runs = runs.frame()
    if isinstance(runs, pd.DataFrame):
        return _of_table(runs, columns, criterion)
    stored = _stored(runs)
    from .report.runs import curves_of as of_stored
    from .report.settings import read_settings

    arms = arms_of(read_settings(stored).values, columns)
    order = arms.order()
    return of_stored([stored[at] for at in order], [arms.names[at] for at in order], criterion)


def _stored(runs: Runs) -> list[RunInfo]:
    if isinstance(runs, RunInfo):
        return [runs]
    if isinstance(runs, (str, Path)):
        found = [run for run in list_runs(runs) if not run.problem and run.summary]
        if not found:
            raise ConfigError("runs", f"{runs} contains no runs with measurements")
        return found
    found = list(runs) if isinstance(runs, Sequence) else []
    if runs == []:
        raise ConfigError("runs", "there are none to draw")
    if not found or not all(isinstance(run, RunInfo) for run in found):
        raise ConfigError(
            "runs", f"{type(runs).__name__} is neither a folder, runs, a scope nor a table of evaluations"
        )
    return found


def _of_table(table: pd.DataFrame, by: Sequence[str], criterion: Criterion) -> list[RunCurves]:
    if "epoch" not in table:
        raise ConfigError("runs", "the table has no column `epoch`: one row per evaluation is needed")
    missing = [name for name in by if name not in table]
    if missing:
        raise ConfigError(
            "by", f"the table has no column {missing[0]!r}. {nearest(missing[0], map(str, table.columns))}"
        )
    parts = [own for _, own in table.groupby("run", sort=False)] if "run" in table else [table]
    arms = _arms_in(parts, by)
    meanings = meanings_by_settings(arms.names, [_settings(own, ()) for own in parts])
    found = []
    for place in arms.order():
        own, arm = parts[place], arms.names[place]
        metrics = own.sort_values("epoch").reset_index(drop=True)
        both = {"train_accuracy", "test_accuracy"} <= set(metrics)
        phases = find_phases(metrics, criterion) if both else None
        score = score_name({name: metrics[name].iloc[0] for name in ("loss", "task", "task.kind") if name in metrics})
        found.append(
            RunCurves(
                arm=arm,
                seed=int(metrics["seed"].iloc[0]) if "seed" in metrics else place,
                metrics=metrics,
                phases=phases.borders if phases else (),
                t_mem=phases.t_mem if phases else None,
                t_grok=phases.t_grok if phases else None,
                criterion=criterion.describe(f"test {score}"),
                score=score,
                status=str(metrics["status"].iloc[0]) if "status" in metrics else "",
                meaning=meanings.get(arm, ""),
            )
        )
    return found


def _arms_in(parts: Sequence[pd.DataFrame], by: Sequence[str]) -> Arms:
    """The arm of each run: its column `arm`, the columns of `by`, or the settings in which the runs differ."""
    if not by and "arm" in parts[0]:
        names = [str(own["arm"].iloc[0]) for own in parts]
        return Arms(names=names, settings={name: {} for name in names}, pooled=[])
    return arms_of([_settings(own, by) for own in parts], by)


def _settings(own: pd.DataFrame, by: Sequence[str]) -> Mapping[str, Any]:
    """The settings of a run: the columns asked for, or those that stand before the measurements, as in the table of `load_runs`."""
    before = by or [name for name in list(own.columns)[: list(own.columns).index("epoch")] if name not in NOT_SETTINGS]
    values = {name: own[name].iloc[0] for name in before}
    return {name: _plain(value) for name, value in values.items() if not _is_missing(value)}


def _plain(value: Any) -> Any:
    """A scalar of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") else value


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _medians(data: Sequence[RunCurves]) -> dict[str, float | None]:
    table = pd.DataFrame([{"arm": run.arm, "t_grok": run.t_grok, "epoch": run.last_epoch} for run in data])
    return {str(arm): None if pd.isna(m) else float(m) for arm, m in summarise(table, "arm")["median"].items()}


def _shown(drawn: Figure) -> Figure:
    """The figure, as a notebook shows it: without pyplot it would print its name only."""
    drawn._repr_png_ = partial(to_png, drawn)  # type: ignore[attr-defined]
    return drawn
