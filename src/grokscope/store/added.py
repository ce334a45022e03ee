"""Columns measured after training, at the epochs of checkpoints: one sealed Parquet file per measure.

<runs>/<id>/added/<measure>.parquet has a column `epoch` and the measure's own; `read_metrics` joins them to the rows of training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import disk
from .disk import DamageError, listing, make_folder
from .layout import ADDED, label
from .seal import read_sealed
from .state import State, read_state
from .tables import Row, encode

if TYPE_CHECKING:
    import pyarrow as pa


def save_added(run: Path, measure: str, rows: Sequence[Row], write: Callable[[Path, bytes], None] = disk.write) -> None:
    """Store the columns of a measure at some checkpoints, replacing earlier ones."""
    make_folder(run / ADDED)
    path = run / ADDED / f"{measure}.parquet"
    write(path, encode(rows, label(path)))


def added_measures(run: Path) -> list[str]:
    """Names of the measures that were added; StoreError if one of them is lost."""
    # The state is read first: a measure may be added meanwhile, and its file precedes the state.
    state = read_state(run)
    found = stored_measures(run)
    check_added(run, found, state)
    return found


def stored_measures(run: Path) -> list[str]:
    """Names of the measures that have a file."""
    return sorted(path.stem for path in listing(run / ADDED) if path.suffix == ".parquet")


def check_added(run: Path, found: Sequence[str], state: State) -> None:
    """Raise StoreError if a measure that the state names is not among those found."""
    for name in state.added:
        if name not in found:
            raise DamageError(f"{run / ADDED / name}.parquet: missing")


def read_added(path: Path) -> pa.Table:
    """The table of one measure, verified."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.ParquetFile(pa.BufferReader(read_sealed(path, label(path)))).read()


def with_added(table: pa.Table, run: Path, measures: Sequence[str]) -> pa.Table:
    """The metric table of a run with the columns of added measures; null where they were not measured."""
    import pyarrow as pa

    epochs = table.column("epoch").to_pylist() if measures else []
    for name in measures:
        added = read_added(run / ADDED / f"{name}.parquet")
        known: Mapping[int, int] = {epoch: place for place, epoch in enumerate(added.column("epoch").to_pylist())}
        places = pa.array([known.get(epoch) for epoch in epochs], pa.int64())
        for column in added.column_names:
            if column not in table.column_names:
                table = table.append_column(column, added.column(column).take(places))
    return table
