"""The evaluations of one run for people: an Arrow table that prints itself in a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .frames import read_metrics as read_table

if TYPE_CHECKING:
    import pyarrow as pa

    from .catalogue import RunInfo


class Metrics:
    """The evaluations of one run, one row each: `table` is the Arrow table, and everything that it can do works here too, such as
    `to_pandas()`, `column_names` and `metrics["test_accuracy"]`."""

    def __init__(self, run: str, table: pa.Table):
        self.run = run
        self.table = table
        """A pyarrow.Table."""

    def __repr__(self) -> str:
        epochs = self.table.column("epoch")
        span = f", epochs {epochs[0].as_py():,} to {epochs[-1].as_py():,}" if len(epochs) else ""
        return (
            f"Metrics(run {self.run}: {len(epochs)} evaluations{span}, {self.table.num_columns} columns; "
            "to_pandas() is the table, column_names names its columns)"
        )

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, key: Any) -> Any:
        return self.table[key]

    def __getattr__(self, name: str) -> Any:
        if name == "table":  # while it is copied or unpickled
            raise AttributeError(name)
        return getattr(self.table, name)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """For pandas, Polars, DuckDB and others that read Arrow."""
        return self.table.__arrow_c_stream__(requested_schema)


def read_metrics(run: RunInfo, columns: Sequence[str] | None = None) -> Metrics:
    """All evaluations of one run, one row per evaluation. Safe while it trains; `to_pandas()` of it is a pandas table.

    columns   read only these; those that the run does not have are omitted, and "epoch" is always included

    StoreError if a part is damaged, or if there are fewer rows than the run has saved.
    """
    return Metrics(run.id, read_table(run, columns))
