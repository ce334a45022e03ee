"""Runs that are trained in memory: the same numbers, and the same folder once they are stored."""

import math
from dataclasses import replace

import pytest
import torch

from grokscope.config import Log, Stop
from grokscope.errors import StoreError
from grokscope.fleet import TrainingStats
from grokscope.launch import local
from grokscope.launch.local import train_all, train_in_memory
from grokscope.launch.memory import MemoryRun
from grokscope.launch.precision import resolved
from grokscope.store import kept_epochs, list_runs, read_checkpoint, read_metrics, read_run


@pytest.fixture
def configs(tiny):
    plain = replace(tiny, stop=Stop(accuracy=0.0), log=Log(every=5, keep=5))
    return [resolved(replace(plain, seed=seed), torch.device("cpu")) for seed in range(3)]


def same(stored, other):
    """Whether two run folders hold the same run: what was measured, but not how long it took."""
    manifests = [
        {k: v for k, v in run.manifest.items() if k not in ("created", "time", "host")} for run in (stored, other)
    ]
    assert manifests[0].keys() == manifests[1].keys()
    assert stored.manifest["numerics"] == other.manifest["numerics"]
    for name in ("id", "config", "status", "epoch"):
        assert getattr(stored, name) == getattr(other, name)
    assert {k: v for k, v in stored.summary.items() if "seconds" not in k} == {
        k: v for k, v in other.summary.items() if "seconds" not in k
    }
    tables = [read_metrics(run).to_pandas().filter(regex="^(?!seconds)") for run in (stored, other)]
    assert tables[0].equals(tables[1])
    assert kept_epochs(stored) == kept_epochs(other)
    for epoch in (None, *kept_epochs(stored)):
        one, two = (read_checkpoint(run, epoch) for run in (stored, other))
        assert one.epoch == two.epoch and one.tensors.keys() == two.tensors.keys()
        assert all(tensor.equal(two.tensors[name]) for name, tensor in one.tensors.items())


def test_a_run_that_is_stored_afterwards_is_the_run_that_was_stored_from_the_start(configs, tmp_path):
    train_all(configs, runs=tmp_path / "stored", device="cpu")
    runs = [MemoryRun(config) for config in configs]
    stats = TrainingStats()
    train_in_memory(runs, device="cpu", stats=stats)
    assert all(run.finished and run.epoch == 12 for run in runs)
    assert stats.run_steps == 36 and not list(tmp_path.glob("memory/*"))
    for run in runs:
        run.store(tmp_path / "memory")
        same(read_run(tmp_path / "stored" / run.config.id), read_run(tmp_path / "memory" / run.config.id))
        run.store(tmp_path / "memory")  # once more changes nothing
    assert len(list_runs(tmp_path / "memory")) == 3


def test_a_run_continues_in_memory_and_in_the_store(configs, tmp_path):
    (config,) = configs[:1]
    train_all([replace(config, epochs=7)], runs=tmp_path / "stored", device="cpu")
    (whole,) = train_all([config], runs=tmp_path / "stored", device="cpu", notify=lambda line: None)
    run = MemoryRun(replace(config, epochs=7))
    train_in_memory([run], device="cpu")
    run.config = config
    assert not run.finished
    train_in_memory([run], device="cpu")
    assert [row["epoch"] for row in run.rows] == [0, 5, 7, 10, 12]
    run.store(tmp_path / "memory")
    assert read_metrics(read_run(tmp_path / "memory" / config.id))["train_loss"] == read_metrics(whole)["train_loss"]
    later = replace(config, epochs=20)
    continued = [
        train_all([later], runs=tmp_path / name, device="cpu", notify=lambda line: None)[0]
        for name in ("stored", "memory")
    ]
    assert read_metrics(continued[0])["train_loss"] == read_metrics(continued[1])["train_loss"]


def test_every_run_that_ends_is_announced(configs):
    ended = []
    train_in_memory([MemoryRun(config, lambda run: ended.append(run.config.seed)) for config in configs], device="cpu")
    assert sorted(ended) == [0, 1, 2]


def test_a_run_that_fails_is_named(configs, monkeypatch):
    def broken(self, **state):
        raise StoreError("broken")

    monkeypatch.setattr(MemoryRun, "save", broken)
    with pytest.raises(StoreError, match=r"3 of 3 runs failed.*broken"):
        train_in_memory([MemoryRun(config) for config in configs], device="cpu")


def test_no_run_twice(configs):
    with pytest.raises(ValueError, match="a run is given twice"):
        train_in_memory([MemoryRun(configs[0]), MemoryRun(configs[0])], device="cpu")


def test_a_run_that_is_released_keeps_what_was_measured(configs):
    run = MemoryRun(configs[0])
    train_in_memory([run], device="cpu")
    assert run.nbytes > 0
    run.release()
    assert run.nbytes == 0 and run.finished and run.epoch == 12 and len(run.rows) == 4


def test_a_run_that_was_released_before_it_was_opened_begins_again(configs):
    """A search that has no memory left gives up candidates, also those that wait for the next rung."""
    whole, released = MemoryRun(configs[0]), MemoryRun(replace(configs[0], epochs=7))
    train_in_memory([whole], device="cpu")
    train_in_memory([released], device="cpu")
    released.release()
    released.config = configs[0]
    train_in_memory([released], device="cpu")
    assert released.finished and released.epoch == 12
    assert [row["test_loss"] for row in released.rows] == [row["test_loss"] for row in whole.rows]
    wanted = whole.saves[-1]["tensors"]
    assert all(tensor.equal(wanted[name]) for name, tensor in released.saves[-1]["tensors"].items())


@pytest.mark.parametrize(("there", "stays"), [(0, True), (3, False)])
def test_checkpoints_stay_on_a_gpu_while_they_are_few(configs, monkeypatch, there, stays):
    """So many checkpoints of these runs are there already; four fit into the fraction of its memory."""
    size = local.checkpoint_bytes(configs[0])
    assert size == 4 * 3 * sum(math.prod(p.shape) for p in configs[0].model.parameters(configs[0].task.shape).values())
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: there * size)
    free = math.ceil(4 * size / local.STAYING) - there * size
    assert local._stay(configs, torch.device("cuda"), free) is stays
    assert not local._stay(configs, torch.device("cpu"), free)
