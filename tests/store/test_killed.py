"""A run killed at any moment continues exactly from its newest checkpoint."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from killing import Killed, survives
from sample_run import ID, check_exact, open_run, save_next

from grokscope.store import disk, find_run, read_metrics


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("keep", [False, True])
def test_killed_at_every_step_of_a_save(tmp_path: Path, after: bool, keep: bool) -> None:
    reached = []
    for nth in range(1, 100):
        runs = tmp_path / str(nth)
        run = open_run(runs)
        save_next(run, keep=keep)
        save_next(run)
        finished = survives(nth, after, lambda run=run: save_next(run, keep=keep, status="grokked"))  # type: ignore[misc]
        run.close()
        with open_run(runs) as again:
            epoch = check_exact(again)
            assert again.state.status == ("grokked" if epoch == 6 else "running")
            assert find_run(runs, ID).epoch == epoch
            reached.append(epoch)
            save_next(again)
            assert check_exact(again) == epoch + 2
        if finished:
            break
    # Two fsyncs and a rename for each of three files, then the deletion of the old checkpoint; the last did not die.
    assert len(reached) == 11
    assert reached == sorted(reached)
    assert set(reached) == {4, 6}


class HalfWritten(io.FileIO):
    """A file whose writer dies in the midst of the n-th write."""

    left = 0

    def write(self, content: Any) -> int:
        HalfWritten.left -= 1
        if HalfWritten.left == 0:
            super().write(content[: len(content) // 2])
            raise Killed
        return super().write(content)


@pytest.mark.parametrize(("nth", "epoch"), [(1, 2), (2, 2), (3, 4)])
def test_killed_in_the_midst_of_writing_a_file(tmp_path: Path, nth: int, epoch: int) -> None:
    run = open_run(tmp_path)
    save_next(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "open", HalfWritten, raising=False)
        patch.setattr(HalfWritten, "left", nth)
        with pytest.raises(Killed):
            save_next(run)
    assert len(list(tmp_path.rglob(".*.tmp"))) == 1
    assert len(read_metrics(find_run(tmp_path, ID))) == (2 if nth == 1 else 4)
    with open_run(tmp_path) as again:
        assert check_exact(again) == epoch
        save_next(again)
        assert check_exact(again) == epoch + 2


def test_killed_again_while_going_on(tmp_path: Path) -> None:
    opened = 0
    for nth in range(1, 11):
        for second in range(1, 100):
            runs = tmp_path / f"{nth}-{second}"
            run = open_run(runs)
            save_next(run)
            assert not survives(nth, False, lambda run=run: save_next(run))  # type: ignore[misc]
            finished = survives(second, False, lambda runs=runs: open_run(runs).close())  # type: ignore[misc]
            with open_run(runs) as again:
                assert check_exact(again) in (2, 4)
                opened += 1
            if finished:
                break
    assert opened > 20


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_every_step_of_the_making(tmp_path: Path, after: bool) -> None:
    for nth in range(1, 100):
        runs = tmp_path / str(nth)
        finished = survives(nth, after, lambda runs=runs: open_run(runs).close())  # type: ignore[misc]
        with open_run(runs) as run:
            assert check_exact(run) == 0
            save_next(run)
            assert check_exact(run) == 2
        assert os.listdir(runs) == [ID]
        if finished:
            break
    assert nth == 13


def test_rows_beyond_the_checkpoint_can_be_read_until_the_run_goes_on(tmp_path: Path) -> None:
    run = open_run(tmp_path)
    save_next(run)
    assert not survives(4, False, lambda: save_next(run))
    assert len(read_metrics(find_run(tmp_path, ID))) == 4
    with open_run(tmp_path) as again:
        assert len(again.metrics()) == 2


def test_a_real_process_killed_at_random_moments(tmp_path: Path) -> None:
    script = Path(__file__).with_name("kill_worker.py")
    rounds = 15
    process = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(rounds), "0"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    began = [int(line) for line in process.stdout.split()]
    assert len(began) == rounds
    assert began == sorted(began)
    with open_run(tmp_path) as run:
        assert check_exact(run) >= began[-1] > 0
        save_next(run)
        assert check_exact(run) > began[-1]
