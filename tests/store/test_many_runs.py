"""Reading many runs: how often files are opened, and that shortcuts give the same numbers."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from many import make_runs
from sample_run import CONFIG, open_run, row, tensors

from grokscope.settings import flatten
from grokscope.store import frames, list_runs, load_runs, read_each, read_metrics


class Opens:
    """Counts the files that are opened, by name."""

    counts: Counter[str] | None = None

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and self.counts is not None and isinstance(arguments[0], (str, Path)):
            self.counts[Path(arguments[0]).name.split("-")[0]] += 1


OPENS = Opens()
sys.addaudithook(OPENS)  # hooks cannot be removed: this one counts only when it is asked to


@pytest.fixture
def opened() -> Iterator[Counter[str]]:
    OPENS.counts = Counter()
    yield OPENS.counts
    OPENS.counts = None


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    make_runs(folder, arms=3, seeds=2, rows=12)
    return folder


def test_listing_opens_each_file_once(runs: Path, opened: Counter[str]) -> None:
    assert len(list_runs(runs)) == 6
    assert opened == {"config.json": 6, "manifest.json": 6, "state.json": 6}


def test_metrics_are_opened_once(runs: Path, opened: Counter[str]) -> None:
    listed = list_runs(runs)
    opened.clear()
    assert len(list(read_each(listed))) == 6
    assert opened == {"state.json": 6, "part": 6}


def test_some_columns(runs: Path) -> None:
    run = list_runs(runs)[0]
    some = read_metrics(run, ["test_accuracy", "unknown"])
    assert some.column_names == ["epoch", "test_accuracy"]
    assert some.equals(read_metrics(run).select(["epoch", "test_accuracy"]))
    assert read_metrics(run, []).column_names == ["epoch"]


def test_threads_read_the_same_in_order(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = list_runs(runs)
    monkeypatch.setattr(frames, "BATCH", 1)
    assert [table.equals(read_metrics(run)) for run, table in zip(listed, read_each(listed), strict=True)] == [True] * 6


def test_load_runs_equals_one_run_after_the_other(tmp_path: Path) -> None:
    """Also with metrics that only some runs have, whole numbers in some, a run without rows, and a setting named as a metric."""
    configs = {
        "a": {**CONFIG, "loss": "mse", "flag": True},
        "b": {**CONFIG, "seed": 1, "steps": "many"},
        "c": {"other": [1, 2], "seed": None},
        "d": {**CONFIG, "seed": 2, "late": 0.5},
    }
    more = {"a": {}, "b": {"extra": 1}, "d": {"extra": 0.5, "loss": 2}}
    for id, config in configs.items():
        with open_run(tmp_path, id=id, config=config) as run:
            if id in more:
                run.save(2, [{**row(epoch), **more[id]} for epoch in (1, 2)], tensors(2), {}, {"t_mem": 1})
    parts = []
    for run in list_runs(tmp_path):
        table = read_metrics(run).to_pandas()
        settings = {"run": run.id, "status": run.status, **flatten(run.config)}
        parts += [{**settings, **measured} for measured in table.to_dict("records")]
    expected = pd.DataFrame(parts)
    found = load_runs(tmp_path)
    assert list(found["run"]) == ["a", "a", "b", "b", "d", "d"]
    for name in ("epoch", "loss", "steps", "extra", "seed", "late", "task.p", "prior.beta"):
        pd.testing.assert_series_equal(found[name], expected[name], check_dtype=False)
    assert list(found["flag"]) == [True, True, None, None, None, None]
    assert found["other"].isna().all()
    as_arrow = load_runs(tmp_path, arrow=True)
    assert isinstance(as_arrow, pa.Table)
    assert as_arrow.column_names == list(found.columns)
    pd.testing.assert_frame_equal(as_arrow.to_pandas(), found)
