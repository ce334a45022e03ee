"""Numbers of each run that rules compare: columns of the table of runs, or functions registered by name."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from ..errors import nearest
from .clocks import Clock, NotRunError, as_floats

if TYPE_CHECKING:
    from ..store.results import Results

Compute = Callable[["Results"], pd.Series]
"""One value per run, indexed by the run's id; runs without a value may be missing."""

Explain = Callable[["Results", str], str]
"""From results and an arm to the reason why a column has no value in it, in words."""

registered: dict[str, Compute] = {}
explained: dict[str, Explain] = {}
"""Of columns that have more to say of an arm without values than that there are none."""


def column(name: str) -> Callable[[Compute], Compute]:
    """Register a column that is computed from results: `@column("lead")`."""

    def add(compute: Compute) -> Compute:
        if name in registered and registered[name].__code__ is not compute.__code__:
            raise ValueError(f"column {name!r} is registered twice; choose another name")
        registered[name] = compute
        return compute

    return add


def why_missing(results: Results, name: str, arm: str) -> str:
    """Why no run of an arm has a value of a column."""
    more = explained[name](results, arm) if name in explained else ""
    return "no run to judge" + (f": {more}" if more else "")


def values(results: Results, wanted: str | Clock, table: str = "runs") -> pd.Series:
    """A column of every row of `table` (runs, or a probe's). On a clock, runs that never reached have infinity."""
    rows = results.runs if table == "runs" else results.probes.get(table)
    if rows is None:
        raise NotRunError(f"probe {table}")
    if isinstance(wanted, Clock):
        own = wanted.sample(rows)
        return pd.Series(own.time, rows.index).where(own.grokked, float("inf"))
    if wanted in registered:
        return rows["run"].map(_computed(results, wanted)).astype(float)
    if wanted not in rows:
        known = [str(name) for name in (*rows.columns, *registered)]
        raise NotRunError(f"column {wanted} ({nearest(wanted, known)})")
    return as_floats(rows[wanted])


_last: deque[tuple[Results, str, Compute, pd.Series]] = deque(maxlen=8)
"""What was computed last: the cases of a claim ask for the same column of the same tables, one after another."""


def _computed(results: Results, name: str) -> pd.Series:
    """A registered column of these very tables, which nobody changes."""
    compute = registered[name]
    for about, own, by, found in _last:
        tables = zip(about[1:], results[1:], strict=True)
        if own == name and by is compute and all(one is two for one, two in tables):
            return found
    made = compute(results)
    _last.append((results, name, compute, made))
    return made


def select(results: Results, runs: pd.DataFrame) -> Results:
    """The results of some of the runs; `runs` may have other names of arms."""
    if "run" not in runs:
        return results._replace(runs=runs)
    ids, arms = set(runs["run"]), dict(zip(runs["run"], runs["arm"], strict=True))
    probes = {
        name: own.assign(arm=own["run"].map(arms))
        for name, table in results.probes.items()
        for own in [table[table["run"].isin(ids)]]
    }
    curves = results.curves[results.curves["run"].isin(ids)] if len(results.curves) else results.curves
    return results._replace(runs=runs, curves=curves, probes=probes)
