"""Leases: of two processes on two machines, one writes a run, also when the other one was paused and wakes up again."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sample_run import ID, check_exact, content, open_run, save_next

from grokscope.errors import BusyError, StoreError
from grokscope.store import RunFolder, find_run, heartbeat, is_held, lease, lock

LENGTH = 0.5


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process is on machine "b", where flock knows nothing of other machines."""
    monkeypatch.setenv(heartbeat.LENGTH, str(LENGTH))
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    monkeypatch.setattr(lease, "machine", lambda: "b")
    monkeypatch.setattr(lease, "_seen", {})
    yield


class Clock:
    """A monotonic clock that the test sets."""

    now = 1000.0
    time = staticmethod(time.time)

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    chosen = Clock()
    monkeypatch.setattr(lease, "time", chosen)
    return chosen


def held_by_another_machine(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> lease.Lease:
    """Pretend that machine "a" opened the run."""
    with monkeypatch.context() as patched:
        patched.setattr(lease, "machine", lambda: "a")
        folder = run.path
        run.close()
        return lease.Lease.take(folder, run.id, locked=True)


def run_content(run: Path) -> dict[str, str]:
    """Everything in a run but the file that counts heartbeats."""
    return {name: mark for name, mark in content(run).items() if not name.endswith(lease.HOLDER)}


@contextmanager
def stopping_process(runs: Path) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, str(Path(__file__).with_name("lease_worker.py")), str(runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            yield process
        finally:
            process.kill()  # one that is stopped never ends


def taken_over(runs: Path, id: str) -> RunFolder:
    """Wait until the lease has expired, and open the run."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return open_run(runs, id=id)
        except BusyError:
            assert time.monotonic() < deadline
            time.sleep(LENGTH / 10)


def test_a_process_that_pauses_at_any_step_of_a_save_past_its_lease_changes_nothing(
    tmp_path: Path, elsewhere: None, record_property: pytest.RecordProperty
) -> None:
    steps, saved = 0, 0
    with stopping_process(tmp_path) as other:
        assert other.stdout is not None
        while os.WIFSTOPPED(os.waitpid(other.pid, os.WUNTRACED)[1]):
            steps += 1
            id = f"run{steps}"
            with pytest.raises(
                BusyError, match=rf"^run {id} is being trained by another process \(.*, pid {other.pid}\)$"
            ):
                open_run(tmp_path, id=id)
            assert is_held(tmp_path / id)
            with taken_over(tmp_path, id) as run:
                epoch = check_exact(run)
                save_next(run)
                before = run_content(tmp_path / id)
                os.kill(other.pid, signal.SIGCONT)
                line = other.stdout.readline()
                assert run_content(tmp_path / id) == before
                assert check_exact(run) == epoch + 2
            if line == f"{steps} saved\n":
                saved += 1
                assert epoch == 6  # it was paused after its last change
            else:
                assert line.startswith(f"{steps} run {id} was taken over by another process (")
                assert line.endswith(
                    f"pid {os.getpid()}) while this process was paused; it has stopped here and changed nothing\n"
                )
    assert steps - saved > 8
    record_property("counts", f"{steps} pauses in the midst of a save: nothing written after the lease was lost")


def test_a_living_lease_is_never_taken_and_an_expired_one_is(
    tmp_path: Path, elsewhere: None, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_by_another_machine(open_run(tmp_path), monkeypatch)
    monkeypatch.setattr(heartbeat, "_held", set())  # the test beats
    for count in range(20):
        held.beat(count)
        seen = clock.now
        for _ in range(2):
            with pytest.raises(BusyError):
                open_run(tmp_path)
            clock.now += 0.4 * LENGTH
    assert find_run(tmp_path, ID).status == "running"
    while is_held(held.path.parent):
        assert not held.lost
        clock.now += 0.4 * LENGTH
    assert LENGTH < clock.now - seen < 2 * LENGTH
    with open_run(tmp_path) as run:
        assert held.lost
        save_next(run)
    with pytest.raises(lease.LostLeaseError, match=rf"^run {ID} was taken over while this process was paused"):
        held.check()


def test_a_reader_that_was_paused_itself_begins_to_count_anew(
    tmp_path: Path, elsewhere: None, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_by_another_machine(open_run(tmp_path), monkeypatch)
    monkeypatch.setattr(heartbeat, "_held", set())
    for _ in range(5):
        assert is_held(held.path.parent)
        clock.now += 100 * LENGTH


@pytest.mark.parametrize("hours", [-1, 1])
def test_clocks_that_differ_by_an_hour_change_nothing(
    tmp_path: Path, elsewhere: None, clock: Clock, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    held = held_by_another_machine(open_run(tmp_path), monkeypatch)
    monkeypatch.setattr(heartbeat, "_held", set())
    for count in range(8):
        held.beat(count)
        then = time.time() + 3600 * hours
        os.utime(held.path / lease.HOLDER, (then, then))
        with pytest.raises(BusyError):
            open_run(tmp_path)
        clock.now += 0.4 * LENGTH


def test_a_run_without_a_heartbeat_for_hours_is_shown_as_stopped_but_not_taken_over(
    tmp_path: Path, elsewhere: None, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_by_another_machine(open_run(tmp_path), monkeypatch)
    monkeypatch.setattr(heartbeat, "_held", set())
    assert find_run(tmp_path, ID).status == "running"
    then = time.time() - 3 * 3600
    os.utime(held.path / lease.HOLDER, (then, then))
    assert find_run(tmp_path, ID).status == "stopped"
    with pytest.raises(BusyError):
        open_run(tmp_path)


def test_the_longer_of_both_lengths_counts(
    tmp_path: Path, elsewhere: None, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(heartbeat.LENGTH, str(10 * LENGTH))
    held = held_by_another_machine(open_run(tmp_path), monkeypatch)
    monkeypatch.setenv(heartbeat.LENGTH, str(LENGTH))
    monkeypatch.setattr(heartbeat, "_held", set())
    for _ in range(20):
        assert is_held(held.path.parent)
        clock.now += 0.4 * LENGTH


def test_the_heartbeat_counts_while_a_run_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(heartbeat.LENGTH, "0.1")
    with open_run(tmp_path) as run:
        file = next(run.path.glob("lease-*/holder"))
        deadline = time.monotonic() + 60
        while int(file.read_text()[: lease.DIGITS]) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert lease.read_holder(file.parent) is not None
    assert not list(run.path.rglob("holder"))


def test_a_file_system_without_flock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease alone decides: held while its process lives, free when it was killed."""

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with open_run(tmp_path) as run:
        save_next(run)
        assert find_run(tmp_path, ID).status == "running"
        with pytest.raises(StoreError, match=f"^run {ID} is already open in this process$"):
            open_run(tmp_path)
        lock._ours.clear()  # as if it were another process of this machine
        with pytest.raises(BusyError, match=f"pid {os.getpid()}"):
            open_run(tmp_path)
        monkeypatch.setattr(lease, "_process_started", lambda pid: "")  # which was killed
        assert find_run(tmp_path, ID).status == "stopped"
        with open_run(tmp_path) as other:
            assert check_exact(other) == 2
            with pytest.raises(lease.LostLeaseError):
                save_next(run)


def test_a_run_of_an_earlier_version_has_no_lease(tmp_path: Path) -> None:
    open_run(tmp_path).close()
    (tmp_path / ID / lease.FREE).rmdir()
    assert find_run(tmp_path, ID).status == "stopped"
    with open_run(tmp_path) as run:
        save_next(run)
    assert (tmp_path / ID / lease.FREE).is_dir()
