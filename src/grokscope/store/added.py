"""Columns measured after training, at the epochs of checkpoints: one sealed Parquet file per measure.

<runs>/<id>/added/<measure>.parquet has a column `epoch` and the measure's own; `read_metrics` joins them to the rows of training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .disk import listing, make_folder, write
from .seal import read_sealed
from .tables import Row, encode

if TYPE_CHECKING:
    import pyarrow as pa

ADDED = "added"


def save_added(run: Path, measure: str, rows: Sequence[Row]) -> None:
    """Store the columns of a measure at some checkpoints, replacing earlier ones."""
    make_folder(run / ADDED)
    write(run / ADDED / f"{measure}.parquet", encode(rows))


def added_measures(run: Path) -> list[str]:
    """Names of the measures that were added."""
    return sorted(path.stem for path in listing(run / ADDED) if path.suffix == ".parquet")


def with_added(table: pa.Table, run: Path) -> pa.Table:
    """The metric table of a run with its added columns; null where they were not measured."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    epochs = table.column("epoch").to_pylist()
    for name in added_measures(run):
        added = pq.ParquetFile(pa.BufferReader(read_sealed(run / ADDED / f"{name}.parquet"))).read()
        known: Mapping[int, int] = {epoch: place for place, epoch in enumerate(added.column("epoch").to_pylist())}
        places = pa.array([known.get(epoch) for epoch in epochs], pa.int64())
        for column in added.column_names:
            if column not in table.column_names:
                table = table.append_column(column, added.column(column).take(places))
    return table
