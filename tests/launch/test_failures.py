"""One run that fails, is busy or is already finished does not disturb the others."""

import threading
from collections import deque
from dataclasses import replace

import pytest
import torch

from grokscope.config import Log
from grokscope.errors import BusyError, StoreError
from grokscope.fleet import FinishedError, Fleet, Job, engine
from grokscope.launch.local import train_all
from grokscope.launch.scheduler import Group, Scheduler
from grokscope.store import find_run, list_runs, read_metrics

CPU = torch.device("cpu")


class Noted:
    """Receives failures."""

    def __init__(self):
        self.skipped, self.failures = [], []

    def busy(self, job, error):
        self.skipped.append(job)

    def failed(self, job, error):
        self.failures.append((job, str(error)))


@pytest.fixture(params=[0, 2])
def io(request):
    return request.param


def fleet_of(jobs, noted, io, lanes=3):
    return Fleet(jobs, lanes=lanes, device=CPU, failures=noted, io_threads=io)


def assert_same(job, other):
    assert [row["train_loss"] for row in job.sink.rows] == [row["train_loss"] for row in other.sink.rows]
    assert all(torch.equal(job.sink.saved[2][name], tensor) for name, tensor in other.sink.saved[2].items())


@pytest.mark.parametrize("at", range(5))
def test_a_failed_save_ends_one_run_alone(tiny, memory, io, at):
    class Failing(memory):
        def save(self, **what):
            if len(self.saves) == at:
                raise StoreError("disk full")
            super().save(**what)

    log = Log(every=5, keep=5)  # saved at every evaluation
    configs = [replace(tiny, seed=seed, epochs=20 + 5 * seed, log=log) for seed in range(3)]
    alone = [Job(config=config, sink=memory()) for config in configs]
    fleet_of(alone, None, 0).run()
    together = [Job(config=config, sink=(Failing if n == 1 else memory)()) for n, config in enumerate(configs)]
    noted = Noted()
    fleet_of(together, noted, io).run()
    assert [(job.config.seed, reason) for job, reason in noted.failures] == [(1, "disk full")]
    assert together[1].sink.reason == "disk full"
    assert together[1].sink.closed
    assert len(together[1].sink.saves) == at
    for place in (0, 2):
        assert together[place].sink.status == "done"
        assert_same(together[place], alone[place])


@pytest.mark.parametrize(
    ("error", "skipped", "failed"),
    [(BusyError("elsewhere"), 1, 0), (FinishedError("done"), 0, 0), (StoreError("damaged"), 0, 1)],
)
def test_a_run_that_cannot_be_opened_leaves_its_place_to_the_next(tiny, memory, io, error, skipped, failed):
    class Closed(memory):
        def resume(self):
            raise error

    jobs = [Job(config=replace(tiny, seed=seed), sink=(Closed if seed == 0 else memory)()) for seed in range(4)]
    noted = Noted()
    fleet_of(jobs, noted, io, lanes=2).run()
    assert (len(noted.skipped), len(noted.failures)) == (skipped, failed)
    assert jobs[0].sink.closed
    assert not jobs[0].sink.saves
    assert [job.sink.status for job in jobs[1:]] == ["done"] * 3


def test_a_deleted_folder_ends_its_run_and_no_other(tiny, tmp_path):
    import shutil

    configs = [replace(tiny, seed=seed, epochs=30, log=Log(every=5, keep=5)) for seed in range(3)]

    class Deleting:
        def update(self, lanes, waiting):
            lane = lanes[0]
            if lane.job.config.seed == 1 and lane.epoch == 10:
                shutil.rmtree(tmp_path / lane.job.config.id)

    with pytest.raises(
        StoreError, match=r"^1 of 3 runs failed; the same command tries them again\. The first: run .* deleted"
    ):
        train_all(configs, runs=tmp_path, lanes=1, device="cpu", save_every=0.0, progress=Deleting())
    assert sorted(run.config["seed"] for run in list_runs(tmp_path)) == [0, 2]
    assert [run.status for run in list_runs(tmp_path)] == ["done", "done"]
    assert [run.status for run in train_all(configs, runs=tmp_path, device="cpu")] == ["done"] * 3


def test_a_failed_run_says_why_and_continues_when_it_is_requested_again(tiny, tmp_path, monkeypatch):
    from grokscope.store import lease

    configs = [replace(tiny, seed=seed, epochs=30, log=Log(every=5, keep=5)) for seed in range(2)]
    failing, write = configs[0].id, lease.write

    def full(path, content, **options):
        if failing in str(path) and "000000020" in path.name:
            raise StoreError(f"{path}: cannot be written (no space left)")
        write(path, content, **options)

    with monkeypatch.context() as patched:
        patched.setattr(lease, "write", full)
        with pytest.raises(StoreError, match=r"^1 of 2 runs failed.*no space left"):
            train_all(configs, runs=tmp_path, lanes=1, device="cpu", save_every=0.0)
    failed = find_run(tmp_path, failing)
    assert (failed.status, failed.epoch) == ("failed", 15)
    assert "no space left" in failed.reason
    assert find_run(tmp_path, configs[1].id).status == "done"
    again = train_all(configs, runs=tmp_path, device="cpu")
    assert [run.status for run in again] == ["done", "done"]
    assert read_metrics(again[0])["epoch"].to_pylist() == list(range(0, 35, 5))


class SmallMemory(engine.Program):
    """A machine on which so many programs fit at a time."""

    holds, alive, lock = 1, 0, threading.Lock()

    def __init__(self, template, lanes, device, **how):
        with self.lock:
            if SmallMemory.alive >= self.holds:
                raise RuntimeError(
                    "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
                )
            SmallMemory.alive += 1
        super().__init__(template, lanes, device, **how)

    def close(self):
        with self.lock:
            SmallMemory.alive -= 1
        super().close()


@pytest.mark.parametrize(("holds", "statuses"), [(1, ["done"] * 4), (0, [None] * 4)])
def test_on_a_cpu_fewer_workers_train_when_memory_runs_out(tiny, memory, monkeypatch, holds, statuses):
    """With room for one program, two workers become one; with room for none, every run fails with one line."""
    monkeypatch.setattr(engine, "Program", SmallMemory)
    monkeypatch.setattr(SmallMemory, "holds", holds)
    monkeypatch.setattr(SmallMemory, "alive", 0)
    jobs = [Job(config=replace(tiny, seed=seed), sink=memory()) for seed in range(4)]
    lines = []
    scheduler = Scheduler([Group(waiting=deque(jobs), lanes=1)], workers=2, cores=2, device=CPU, notify=lines.append)
    scheduler.run()
    assert [job.sink.status if job.sink.saves else None for job in jobs] == statuses
    assert len(scheduler.failures) == statuses.count(None)
    if holds == 0:
        assert str(scheduler.failures[0][1]) == "memory: the run does not fit into the memory of this machine"
        assert lines[0] == "2 runs at once do not fit into memory; continuing with 1"
