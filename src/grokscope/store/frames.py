"""Stored metrics as tables: of one run, or of all runs in a folder together with their settings."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from ..errors import StoreError
from ..settings import flatten
from .added import with_added
from .catalogue import RunInfo, list_runs
from .tables import join, read_parts

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def read_metrics(run: RunInfo) -> pa.Table:
    """All evaluations of one run, one row per evaluation. Safe while it trains."""
    return with_added(join([table for _, table in read_parts(run.path)]), run.path)


@overload
def load_runs(folder: str | Path, *, arrow: Literal[False] = False) -> pd.DataFrame: ...
@overload
def load_runs(folder: str | Path, *, arrow: Literal[True]) -> pa.Table: ...
def load_runs(folder: str | Path, *, arrow: bool = False) -> pd.DataFrame | pa.Table:
    """All evaluations of all runs in `folder`, as a pandas table, or an Arrow table with ``arrow=True``.

    The columns: ``run`` (its id) and ``status``; every setting by its dotted name, such as ``task.p`` and ``seed``;
    then the metrics, ``epoch`` first. A metric hides a setting of the same name. Damaged runs are omitted with a
    warning.
    """
    import pyarrow as pa

    runs, tables = [], []
    for run in list_runs(folder):
        try:
            if run.problem:
                raise StoreError(run.problem)
            tables.append(read_metrics(run))
            runs.append(run)
        except StoreError as error:
            warnings.warn(f"omitted: {error}", stacklevel=2)
    metrics = join(tables)
    owner = pa.array([number for number, table in enumerate(tables) for _ in range(len(table))], pa.int64())
    columns = {name: column.take(owner) for name, column in _settings(runs).items()}
    table = pa.table({**columns, **{name: metrics.column(name) for name in metrics.column_names}})
    return table if arrow else table.to_pandas()


def _settings(runs: list[RunInfo]) -> dict[str, pa.Array]:
    """One value per run: id, status and every setting that any of them has."""
    flat = [{"run": run.id, "status": run.status, **flatten(run.config)} for run in runs]
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
