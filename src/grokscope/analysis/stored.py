"""Times of stored runs: from the summary where it was made by the same criterion, else from the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..store import RunInfo, read_each, read_metrics
from .times import DEFAULT, TIMES, Criterion, Metrics, Times, run_times

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("train_accuracy", "test_accuracy", "seconds")
"""What times are found from, besides the epochs."""


def summary_of(metrics: Metrics, criterion: Criterion = DEFAULT) -> dict[str, Any]:
    """The times of a run with the criterion that they were found by, as they are stored with it."""
    return {**run_times(metrics, criterion).to_dict(), "criterion": criterion.to_dict()}


def times_of(run: RunInfo, criterion: Criterion = DEFAULT) -> Times:
    """When a stored run memorised and grokked."""
    known = stored_times(run, criterion)
    return _times_in(read_metrics(run, COLUMNS), criterion) if known is None else known


def times_of_each(runs: Sequence[RunInfo], criterion: Criterion = DEFAULT) -> list[Times | StoreError]:
    """The times of each run; in place of those that cannot be read, what is wrong."""
    plain = criterion.to_dict()
    known = [_stored_by(run, plain) for run in runs]
    read = read_each([run for run, times in zip(runs, known, strict=True) if times is None], COLUMNS)
    found: list[Times | StoreError] = []
    for times in known:
        if times is None:
            table = next(read)
            found.append(table if isinstance(table, StoreError) else _times_in(table, criterion))
        else:
            found.append(times)
    return found


def stored_times(run: RunInfo, criterion: Criterion = DEFAULT) -> Times | None:
    """The times in the summary of a run; None if they were found by another criterion."""
    return _stored_by(run, criterion.to_dict())


def _stored_by(run: RunInfo, criterion: dict[str, Any]) -> Times | None:
    stored = run.summary
    if stored.get("criterion") != criterion or not all(name in stored for name in TIMES):
        return None
    return Times.from_dict(stored)


def _times_in(table: pa.Table, criterion: Criterion) -> Times:
    if not len(table):
        return run_times({"epoch": [], "train_accuracy": [], "test_accuracy": []}, criterion)
    columns = {name: column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True)}
    return run_times(columns, criterion)
