"""Times of stored runs: from the summary where it was made by the same criterion, else from the metrics."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..errors import StoreError, shown
from ..store import RunInfo, read_metrics
from .times import DEFAULT, Criterion, Metrics, Times, run_times


def summary_of(metrics: Metrics, criterion: Criterion = DEFAULT) -> dict[str, Any]:
    """The times of a run with the criterion that they were found by, as they are stored with it."""
    return {**run_times(metrics, criterion).to_dict(), "criterion": criterion.to_dict()}


def times_of(run: RunInfo, criterion: Criterion = DEFAULT) -> Times:
    """When a stored run memorised and grokked."""
    stored = run.summary
    if stored.get("criterion") == criterion.to_dict() and all(field.name in stored for field in fields(Times)):
        if wrong := [f.name for f in fields(Times) if not isinstance(stored[f.name], (int, float, type(None)))]:
            raise StoreError(
                f"run {run.id}: {wrong[0]} of its summary is {shown(stored[wrong[0]])}, which is not a time"
            )
        return Times.from_dict(stored)
    metrics = read_metrics(run).to_pandas()
    if metrics.empty:
        metrics = {"epoch": [], "train_accuracy": [], "test_accuracy": []}
    return run_times(metrics, criterion)
