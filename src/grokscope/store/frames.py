"""Stored metrics as tables: of one run, or of all runs in a folder together with their settings."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from ..errors import StoreError
from ..settings import flatten
from .added import check_added, stored_measures, with_added
from .catalogue import RunInfo, list_runs
from .omitted import DELETED, omitted_lines
from .state import read_state
from .tables import check_rows, join, read_all

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

READERS = 4
"""Most threads that read metrics; decompression releases Python's lock."""
BATCH = 64
"""Runs that a thread reads at a time."""


def read_metrics(run: RunInfo, columns: Sequence[str] | None = None) -> pa.Table:
    """All evaluations of one run, one row per evaluation. Safe while it trains.

    columns   read only these; those that the run does not have are omitted, and "epoch" is always included

    StoreError if a part is damaged, or if there are fewer rows than the run has saved.
    """
    wanted = None if columns is None else list(dict.fromkeys(["epoch", *columns]))
    # The state is read first, and once: a run that trains may write more meanwhile, but never less.
    state = read_state(run.path)
    parts = read_all(run.path, wanted)
    check_rows(run.path, [(part, len(table)) for part, table in parts], state)
    measures = stored_measures(run.path)
    check_added(run.path, measures, state)
    table = with_added(join([table for _, table in parts]), run.path, measures)
    return table if wanted is None else table.select([name for name in table.column_names if name in wanted])


def read_each(runs: Sequence[RunInfo], columns: Sequence[str] | None = None) -> Iterator[pa.Table | StoreError]:
    """The metrics of each run, in order; in place of those that cannot be read, what is wrong. Uses threads."""

    def read_some(some: Sequence[RunInfo]) -> list[pa.Table | StoreError]:
        return [_read_or_error(run, columns) for run in some]

    threads = min(READERS, os.cpu_count() or 1)
    batches = [runs[first : first + BATCH] for first in range(0, len(runs), BATCH)]
    if len(batches) < 2 or threads < 2:
        for batch in batches:
            yield from read_some(batch)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            for tables in pool.map(read_some, batches):
                yield from tables
        finally:
            pool.shutdown(cancel_futures=True)


@overload
def load_runs(folder: str | Path, *, arrow: Literal[False] = False) -> pd.DataFrame: ...
@overload
def load_runs(folder: str | Path, *, arrow: Literal[True]) -> pa.Table: ...
def load_runs(folder: str | Path, *, arrow: bool = False) -> pd.DataFrame | pa.Table:
    """All evaluations of all runs in `folder`, as a pandas table, or an Arrow table with ``arrow=True``.

    The columns: ``run`` (its id), ``status``, and ``name`` if any run has one; every setting by its dotted name, such as ``task.p`` and ``seed``;
    then the metrics, ``epoch`` first. A metric hides a setting of the same name. Damaged runs are omitted with a
    warning.
    """
    import numpy as np
    import pyarrow as pa

    listed = list_runs(folder)
    problems = {run.id: run.problem for run in listed if run.problem}
    runs, tables = [], []
    intact = [run for run in listed if not run.problem]
    for run, table in zip(intact, read_each(intact), strict=True):
        if isinstance(table, StoreError):
            problems[run.id] = str(table)
        else:
            runs.append(run)
            tables.append(table)
    for line in omitted_lines(problems):
        warnings.warn(line, stacklevel=2)
    metrics, settings = join(tables), pa.table(_settings(runs))
    rows = np.array([len(table) for table in tables], dtype=np.int64)
    names = list(dict.fromkeys([*settings.column_names, *metrics.column_names]))
    settings = settings.select([name for name in settings.column_names if name not in metrics.column_names])
    if arrow:
        owner = pa.array(np.repeat(np.arange(len(runs)), rows))
        columns = {
            table_name: column.take(owner) for table_name, column in zip(settings.column_names, settings, strict=True)
        }
        columns |= dict(zip(metrics.column_names, metrics, strict=True))
        return pa.table({name: columns[name] for name in names})
    return _as_frame(settings, metrics, rows)[names]


def _as_frame(settings: pa.Table, metrics: pa.Table, rows: Any) -> pd.DataFrame:
    """The same as a pandas table; repeating pandas' own values is many times quicker than converting repeated strings."""
    import numpy as np
    import pandas as pd

    some = np.flatnonzero(rows)
    repeated = settings.take(some).to_pandas().take(np.repeat(np.arange(len(some)), rows[some]))
    return pd.concat([repeated.reset_index(drop=True), metrics.to_pandas()], axis=1)


def _read_or_error(run: RunInfo, columns: Sequence[str] | None) -> pa.Table | StoreError:
    try:
        return read_metrics(run, columns)
    except StoreError as error:
        return error if os.path.lexists(run.path) else StoreError(f"run {run.id}: {DELETED}")


def _settings(runs: list[RunInfo]) -> dict[str, pa.Array]:
    """One value per run: id, status, names if there are any, and every setting that any of them has."""
    named = any(run.name for run in runs)
    flat = [
        {"run": run.id, "status": run.status, **({"name": run.name} if named else {}), **flatten(run.config)}
        for run in runs
    ]
    names = dict.fromkeys(["run", "status", *(name for row in flat for name in row)])
    return {name: _column([row.get(name) for row in flat]) for name in names}


def _column(values: list[Any]) -> pa.Array:
    """Values of the narrowest type that holds them all: bool, int64, float64, else text as on the command line."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    for allowed, arrow_type in (({bool}, pa.bool_()), ({int}, pa.int64()), ({int, float}, pa.float64())):
        if kinds and kinds <= allowed:
            return pa.array(values, arrow_type)
    return pa.array([_word(value) for value in values], pa.string())


def _word(value: Any) -> str | None:
    if isinstance(value, list):
        return ",".join(str(_word(item)) for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
