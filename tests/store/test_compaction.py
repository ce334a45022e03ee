"""The parts of a finished run are joined: the same rows, killed at any step or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from killing import survives
from sample_run import ID, check_exact, open_run, row, save_next

from grokscope.store import compaction, find_run, lease, list_runs, read_metrics
from grokscope.store.verification import check_run


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts are enough to be joined."""
    monkeypatch.setattr(compaction, "FEWEST", 2)


def names(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "metrics").iterdir())


def test_the_parts_of_a_finished_run_are_one_file(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        for _ in range(4):
            save_next(run)
        assert len(names(run.path)) == 4
        save_next(run, status="done")
        assert check_exact(run) == 10
    assert names(tmp_path / ID) == ["rows-000000001-000000010.parquet"]
    assert read_metrics(find_run(tmp_path, ID)).to_pylist() == [row(epoch) for epoch in range(1, 11)]
    assert not check_run(tmp_path / ID).problems


def test_a_kept_checkpoint_stays_a_place_to_go_back_to(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        for number in range(6):
            save_next(run, keep=number == 2, status="done" if number == 5 else "running")
    assert names(tmp_path / ID) == ["rows-000000001-000000006.parquet", "rows-000000007-000000012.parquet"]
    (newest,) = (tmp_path / ID / "checkpoints").glob("epoch-*")
    newest.write_bytes(b"damaged")
    with open_run(tmp_path) as run:
        assert check_exact(run) == 6


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_step_nothing_is_lost_or_counted_twice(tmp_path: Path, after: bool) -> None:
    joined = 0
    for nth in range(1, 100):
        runs = tmp_path / str(nth)
        run = open_run(runs)
        save_next(run)
        save_next(run)
        finished = survives(nth, after, lambda run=run: save_next(run, status="grokked"))  # type: ignore[misc]
        run.close()
        rows = read_metrics(find_run(runs, ID)).to_pylist()  # before anything is repaired
        assert rows == [row(epoch) for epoch in range(1, len(rows) + 1)]
        assert len(rows) in (4, 6)
        joined += any(name.startswith("rows-") for name in names(runs / ID))
        with open_run(runs) as again:
            assert check_exact(again) in (4, 6)
        if finished:
            break
    assert joined > 2


def test_a_run_that_cannot_be_joined_is_finished_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = lease.write

    def full(path: Path, content: bytes, **options: object) -> None:
        if path.name.startswith("rows-"):
            raise lease.StoreError("disk full")
        real(path, content, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(lease, "write", full)
    with open_run(tmp_path) as run:
        save_next(run)
        save_next(run, status="done")
    assert [run.status for run in list_runs(tmp_path)] == ["done"]
    assert len(names(tmp_path / ID)) == 2
