"""Times of stored runs: the summary where it is by the same criterion, else the metrics."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from grokscope.analysis import DEFAULT, FIRST_TOUCH, stored, summary_of, times_of
from grokscope.store import RunInfo

METRICS = {
    "epoch": [0, 50, 100, 150, 200],
    "seconds": [0.0, 1.0, 2.0, 3.0, 4.0],
    "train_accuracy": [0.0, 1.0, 1.0, 1.0, 1.0],
    "test_accuracy": [0.0, 1.0, 0.5, 1.0, 1.0],
}


def info(summary: dict[str, object]) -> RunInfo:
    return RunInfo(id="3f9a", path=Path("runs/3f9a"), status="done", epoch=200, summary=summary)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which runs' metrics were read."""
    read: list[str] = []
    monkeypatch.setattr(stored, "read_metrics", lambda run, columns: read.append(run.id) or pa.table(METRICS))
    return read


def test_a_summary_by_the_same_criterion_is_taken(reads: list[str]) -> None:
    found = times_of(info(summary_of(METRICS)))
    assert (found.t_mem, found.t_grok, found.t_grok_first) == (50, 150, 50)
    assert reads == []


def test_another_criterion_is_found_in_the_metrics(reads: list[str]) -> None:
    found = times_of(info(summary_of(METRICS)), FIRST_TOUCH)
    assert (found.t_grok, found.seconds_to_grok) == (50, 1.0)
    assert reads == ["3f9a"]


@pytest.mark.parametrize("summary", [{"t_mem": 50, "t_grok": 50}, {"criterion": DEFAULT.to_dict(), "t_grok": 50}, {}])
def test_a_summary_of_an_older_version_is_not_trusted(reads: list[str], summary: dict[str, object]) -> None:
    assert times_of(info(summary)).t_grok == 150
    assert reads == ["3f9a"]


def test_a_run_without_measurements_has_no_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "read_metrics", lambda run, columns: pa.table({}))
    assert set(times_of(info({})).to_dict().values()) == {None}
