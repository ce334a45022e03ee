"""Metric tables: rows to Parquet parts and back to one Arrow table.

A column is int64 or float64. It may be missing in some parts, or whole numbers in one part and not in another: the
table read back has it once, as float64 if any part needs it, with nulls where it is missing. NaN stays NaN and None
stays null.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from .disk import damaged
from .layout import METRICS, PartFile, label, part_files
from .seal import BLANK, read_sealed, sealed
from .state import State, read_state

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, "float | int | None"]

_FORMAT: dict[str, Any] = {"compression": "snappy", "use_dictionary": False, "write_statistics": False}
"""A part is dozens of columns of some hundred numbers. Dictionaries and statistics make such a file larger, and zstd is set up anew
for each column, which takes longer than all the rest: a part is written and read in less than half of the time."""


def encode(rows: Sequence[Row], label: str) -> bytes:
    """One part, sealed. Every row has an "epoch"; the other columns are in the order in which they first appear."""
    import pyarrow as pa

    shapes = dict.fromkeys(map(tuple, rows))
    names = dict.fromkeys(["epoch", *chain.from_iterable(shapes)])
    # Rows of one run have the same columns, and saving thousands of runs takes a core of its own: no look-up per value.
    if len(shapes) == 1 and len(next(iter(shapes))) == len(names):
        values = dict(zip(next(iter(shapes)), zip(*(row.values() for row in rows), strict=True), strict=True))
    else:
        values = {name: tuple(row.get(name) for row in rows) for name in names}
    return encode_table(pa.table({name: _column(name, values[name]) for name in names}), label)


def encode_table(table: pa.Table, label: str) -> bytes:
    """A table as one sealed part."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({"checksum": BLANK}), sink, **_FORMAT)
    return sealed(sink.getvalue().to_pybytes(), label)


def read_part(part: PartFile, columns: Sequence[str] | None = None) -> pa.Table:
    """The table in a part, after checking it against its name.

    columns   read only these, "epoch" among them; those that the part does not have are omitted
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(read_sealed(part.path, label(part.path))))
    # One small row group: threads would cost more than they save.
    table = file.read(columns=columns, use_threads=False).replace_schema_metadata(None)
    first, last = table.column("epoch")[0].as_py(), table.column("epoch")[-1].as_py()
    if (first, last) != (part.first, part.last):
        raise damaged(part.path, f"it holds epochs {first} to {last}")
    return table


def read_parts(run: Path, columns: Sequence[str] | None = None) -> list[tuple[PartFile, pa.Table]]:
    """All parts, in order of epochs; StoreError if rows are lost. Safe while the run trains. For `columns` see
    `read_part`."""
    # The state is read first: a run that trains may write more rows meanwhile, but never fewer.
    state = read_state(run)
    found = read_all(run, columns)
    check_rows(run, [(part, len(table)) for part, table in found], state)
    return found


def read_all(run: Path, columns: Sequence[str] | None = None) -> list[tuple[PartFile, pa.Table]]:
    """All parts that are there, in order of epochs."""
    for _ in range(3):
        try:
            return [(part, read_part(part, columns)) for part in part_files(run)]
        except StoreError as error:
            # A run that continues from its last checkpoint drops later parts: list them again.
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
    raise StoreError(f"{run}: parts of its metrics disappear while they are read")


def check_rows(run: Path, parts: Sequence[tuple[PartFile, int]], state: State) -> None:
    """Raise StoreError unless the parts, given with their numbers of rows, hold all rows of `state` up to its epoch."""
    for (before, _), (after, _) in pairwise(parts):
        if after.first <= before.last:
            raise damaged(after.path, f"overlaps {before.path.name}")
    limit = state.epoch if state.rows else -1
    for part, _ in parts:
        if part.first <= limit < part.last:
            raise damaged(part.path, f"it begins before the checkpoint of epoch {limit} and ends after it")
    found = sum(rows for part, rows in parts if part.last <= limit)
    if found != state.rows:
        raise damaged(run / METRICS, f"{found} rows up to epoch {state.epoch}, its state counts {state.rows}")


def join(tables: Sequence[pa.Table]) -> pa.Table:
    """One table with the columns of all."""
    import pyarrow as pa

    if len(tables) == 1:
        return tables[0]
    types: dict[str, Any] = {"epoch": pa.int64()}
    # Most tables have the same columns: each distinct schema is considered once.
    for field in (field for schema in dict.fromkeys(table.schema for table in tables) for field in schema):
        types[field.name] = pa.float64() if pa.float64() in (field.type, types.get(field.name)) else pa.int64()
    schema = pa.schema(types.items())
    return pa.concat_tables([_fit(table, schema) for table in tables]) if tables else schema.empty_table()


def row_epochs(rows: Sequence[Row]) -> list[int]:
    """The epochs of rows, which must be increasing integers."""
    epochs = [row.get("epoch") for row in rows]
    if not (all(isinstance(e, Integral) for e in epochs) and all(a < b for a, b in pairwise(epochs))):  # type: ignore[operator]
        raise ValueError(f"every row needs an epoch, an integer above that of the previous row; got {epochs}")
    return [int(e) for e in epochs]  # type: ignore[arg-type]


def _fit(table: pa.Table, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    if table.schema.equals(schema):
        return table
    columns = [
        table.column(f.name).cast(f.type, safe=False) if f.name in table.column_names else pa.nulls(len(table), f.type)
        for f in schema
    ]
    return pa.table(columns, schema=schema)


def _column(name: str, values: Sequence[Any]) -> pa.Array:
    kinds = set(map(type, values))
    if kinds == {float} or kinds == {int}:
        return _array(values, whole=kinds == {int})
    kinds.discard(type(None))
    if not all(issubclass(kind, Real) for kind in kinds):
        wrong = next(v for v in values if v is not None and not isinstance(v, Real))
        raise TypeError(f"metric {name}: {wrong!r} is not a number")
    whole = bool(kinds) and all(issubclass(kind, Integral) for kind in kinds)
    there = [v is not None for v in values]
    plain = int if whole else float
    return _array([plain(0 if v is None else v) for v in values], whole, None if all(there) else there)


def _array(values: Sequence[float], whole: bool, there: Sequence[bool] | None = None) -> pa.Array:
    """An Arrow array of int64 or float64; `there` is False for nulls. `pyarrow.array` would import pandas, which takes longer than
    a first step."""
    import numpy as np
    import pyarrow as pa

    valid = None if there is None else pa.py_buffer(np.packbits(there, bitorder="little"))
    numbers = pa.py_buffer(array("q" if whole else "d", values))
    return pa.Array.from_buffers(pa.int64() if whole else pa.float64(), len(values), [valid, numbers])
