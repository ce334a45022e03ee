"""Two processes on one run: the second gets a clear error, and the lock dies with its holder."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sample_run import CONFIG, ID, check_exact, content, open_run, save_next

from grokscope.errors import BusyError, StoreError
from grokscope.store import creation, find_run, lock

HOLDER = f"""
import sys
from grokscope.store import RunFolder
run = RunFolder.create_or_open(sys.argv[1], {ID!r}, {CONFIG!r}, device="cpu")
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process_trains(runs: Path) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLDER, str(runs)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def test_the_second_process_is_told_and_changes_nothing(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        save_next(run)
    with another_process_trains(tmp_path) as holder:
        before = content(tmp_path)
        with pytest.raises(StoreError, match=rf"^run {ID} is being trained by another process \(pid {holder.pid}\)$"):
            open_run(tmp_path)
        assert content(tmp_path) == before
        assert find_run(tmp_path, ID).status == "running"
        holder.kill()
        holder.wait()
        assert find_run(tmp_path, ID).status == "stopped"
        with open_run(tmp_path) as run:
            assert check_exact(run) == 2


def test_a_run_that_another_process_is_making_counts_as_taken(tmp_path: Path) -> None:
    draft = tmp_path / f".new-{ID}"
    draft.mkdir()
    taken = lock.Lock.take(draft, ID)
    lock._ours.clear()  # as if another process held it
    with pytest.raises(BusyError, match=r"is being trained by another process$"):
        open_run(tmp_path)
    taken.release()
    open_run(tmp_path).close()
    assert os.listdir(tmp_path) == [ID]


def test_whoever_is_second_to_make_a_run_opens_the_first_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace
    made: list[Path] = []

    def overtaken(source: Path, target: Path) -> None:
        if Path(target).name == ID and not made:
            made.append(target)
            os.rename(source, tmp_path / "aside")
            with open_run(tmp_path) as first:
                save_next(first)
            os.rename(tmp_path / "aside", source)
        replace(source, target)

    monkeypatch.setattr(os, "replace", overtaken)
    with open_run(tmp_path) as run:
        assert made
        assert check_exact(run) == 2
    assert os.listdir(tmp_path) == [ID]


def test_a_run_that_is_moved_into_place_while_we_wait_for_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_soon, fill = lock._lock_soon, creation._fill
    filled = []

    def counted(draft: Path, *content: dict[str, Any]) -> None:
        filled.append(draft)
        fill(draft, *content)

    def overtaken(descriptor: int) -> None:
        monkeypatch.setattr(lock, "_lock_soon", lock_soon)
        with open_run(tmp_path) as first:
            save_next(first)
        lock_soon(descriptor)

    monkeypatch.setattr(lock, "_lock_soon", overtaken)
    monkeypatch.setattr(creation, "_fill", counted)
    with open_run(tmp_path) as run:
        assert check_exact(run) == 2
    assert len(filled) == 1  # only the first made a folder
    assert os.listdir(tmp_path) == [ID]


def test_the_same_process_cannot_open_a_run_twice(tmp_path: Path) -> None:
    with open_run(tmp_path), pytest.raises(StoreError, match=f"^run {ID} is already open in this process$"):
        open_run(tmp_path)
    open_run(tmp_path).close()


def test_looking_at_a_run_does_not_stop_it_from_being_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_run(tmp_path).close()
    reader = os.open(tmp_path / ID / "lock", os.O_RDONLY)
    fcntl.flock(reader, fcntl.LOCK_SH)
    pauses = []

    def reader_leaves(pause: float) -> None:
        pauses.append(pause)
        if len(pauses) == 2:
            os.close(reader)

    monkeypatch.setattr(time, "sleep", reader_leaves)
    with open_run(tmp_path) as run:
        assert check_exact(run) == 0
    assert len(pauses) == 2


def test_a_run_without_a_lock_file_is_not_held(tmp_path: Path) -> None:
    open_run(tmp_path).close()
    (tmp_path / ID / "lock").unlink()
    assert find_run(tmp_path, ID).status == "stopped"
    open_run(tmp_path).close()
