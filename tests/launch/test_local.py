"""Training into a store: resuming, skipping, interrupting, teachers."""

import errno
import os
import signal
from dataclasses import replace

import pytest
import torch

import grokscope
from grokscope.config import Log, RunConfig
from grokscope.errors import ConfigError, StoreError
from grokscope.fleet import TrainingStats, engine
from grokscope.fleet.io_pool import IOPool
from grokscope.launch import local as training
from grokscope.launch.local import resolve_device, teacher_attention, train, train_all
from grokscope.models.transformer import Transformer
from grokscope.priors.kl import KL
from grokscope.store import RunFolder, list_runs, read_checkpoint
from grokscope.tasks.modular import Modular


@pytest.fixture(params=[0, 3], ids=["alone", "with io_threads"])
def io_threads(request, monkeypatch):
    """Fleets that do the host's work themselves, and fleets that have it done, as on a GPU."""
    monkeypatch.setattr(engine, "IOPool", lambda io_threads: IOPool(request.param))


def test_train_and_load(tiny, tmp_path, io_threads):
    runs = train(tiny, seeds=3, runs=tmp_path)
    assert [run.config["seed"] for run in runs] == [0, 1, 2]
    assert {run.status for run in runs} == {"done"}
    assert RunConfig.from_dict(runs[1].config) == replace(tiny, seed=1, precision="float32")
    table = grokscope.load_runs(tmp_path)
    assert len(table) == 3 * 4
    assert sorted(table["epoch"].unique()) == [0, 5, 10, 12]
    assert {"train_loss", "test_accuracy", "D", "grad_M", "bound", "mlp_norm", "task.p", "prior.beta", "seed"} <= set(
        table.columns
    )
    assert table[["train_loss", "D", "bound_ratio"]].notna().all().all()
    assert (
        runs[0].summary["test_accuracy"]
        == table[(table["run"] == runs[0].id) & (table["epoch"] == 12)]["test_accuracy"].item()
    )


def test_a_finished_run_is_not_trained_again(tiny, tmp_path):
    (first,) = train(tiny, runs=tmp_path)
    stamp = {path: path.stat().st_mtime_ns for path in first.path.rglob("*") if path.is_file() and path.name != "lock"}
    (again,) = train(tiny, runs=tmp_path)
    assert again == first
    assert stamp == {path: path.stat().st_mtime_ns for path in stamp}


@pytest.mark.matrix
def test_ctrl_c_keeps_everything_and_the_same_call_goes_on(tiny, tmp_path, io_threads):
    config = replace(tiny, epochs=60)

    class PressAt:
        def __init__(self, epoch):
            self.epoch = epoch

        def update(self, lanes, waiting):
            if lanes[0].epoch == self.epoch:
                os.kill(os.getpid(), signal.SIGINT)

    stopped = train(config, seeds=2, lanes=1, runs=tmp_path, progress=PressAt(20))
    assert [(run.status, run.epoch) for run in stopped][:1] == [("stopped", 20)]
    resumed = train(config, seeds=2, runs=tmp_path)
    whole = train(config, seeds=2, runs=tmp_path / "whole")
    for a, b in zip(resumed, whole, strict=True):
        assert (a.status, a.epoch, a.summary["t_mem"]) == (b.status, b.epoch, b.summary["t_mem"])
        left, right = read_checkpoint(a).tensors, read_checkpoint(b).tensors
        assert all(torch.equal(left[name], right[name]) for name in right)
        left, right = (
            grokscope.read_metrics(r).to_pandas().drop(columns=["seconds", "seconds_per_step"]) for r in (a, b)
        )
        assert left.equals(right)


@pytest.fixture
def two_workers(monkeypatch):
    """As on two cores with runs large enough."""
    monkeypatch.setattr(training, "plan_workers", lambda configs, device, cores, lanes: min(2, len(configs)))


@pytest.mark.matrix
def test_two_workers_train_what_one_does(tiny, tmp_path, two_workers, monkeypatch, io_threads):
    configs = [replace(tiny, task=Modular(p=p), epochs=10, seed=s) for p in (5, 7) for s in range(3)]
    stats = TrainingStats()
    two = train_all(configs, runs=tmp_path / "two", stats=stats)
    assert stats.run_steps == 60
    assert stats.seconds > 0
    monkeypatch.undo()
    one = train_all(configs, runs=tmp_path / "one")
    for a, b in zip(two, one, strict=True):
        assert (a.id, a.status, a.epoch) == (b.id, "done", 10)
        left, right = read_checkpoint(a).tensors, read_checkpoint(b).tensors
        assert all(torch.equal(left[name], right[name]) for name in right)


@pytest.mark.matrix
def test_the_same_seeds_give_the_same_bits_however_they_are_asked_for(tiny, tmp_path):
    """Together, one by one, in another order, with another number of lanes, with other runs beside them."""
    runs = {
        "together": train(tiny, seeds=3, runs=tmp_path / "a"),
        "one by one": [train(tiny, seeds=[seed], runs=tmp_path / "b")[0] for seed in range(3)],
        "another order": train(tiny, seeds=[2, 0, 1], runs=tmp_path / "c"),
        "three at once": train(tiny, seeds=3, lanes=3, runs=tmp_path / "d"),
        "in company": train_all(
            [replace(c, seed=s) for s in range(3) for c in (replace(tiny, task=Modular(p=5)), tiny)],
            lanes=2,
            runs=tmp_path / "e",
        ),
    }
    wanted = {run.id: read_checkpoint(run).tensors for run in runs.pop("together")}
    for way, found in runs.items():
        tensors = {run.id: read_checkpoint(run).tensors for run in found}
        for id, own in wanted.items():
            assert all(torch.equal(tensors[id][name], own[name]) for name in own), way


def test_ctrl_c_twice_stops_every_worker_at_once(tiny, tmp_path, two_workers, io_threads):
    class PressTwice:
        pressed = False

        def update(self, lanes, waiting):
            if lanes[0].epoch == 20 and not self.pressed:  # one worker presses, the other only hears of it
                self.pressed = True
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGTERM)

    config = replace(tiny, epochs=10**9)
    with pytest.raises(KeyboardInterrupt):
        train(config, seeds=3, runs=tmp_path, progress=PressTwice())
    assert all(run.status == "stopped" for run in list_runs(tmp_path))
    assert all(run.status == "done" for run in train(tiny, seeds=3, runs=tmp_path))
    for run in list_runs(tmp_path):  # nothing is locked
        RunFolder.create_or_open(tmp_path, run.id, run.config, device="").close()


def test_a_full_disk_is_one_clear_error_and_nothing_is_lost(tiny, tmp_path, monkeypatch, io_threads):
    config = replace(tiny, epochs=60, log=Log(every=5, keep=10))
    fsync, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="disk full while writing"):
            train(config, seeds=2, runs=tmp_path)
    stopped = list_runs(tmp_path)
    assert {run.status for run in stopped} <= {"stopped", "done"}
    assert any(0 < run.epoch < 60 for run in stopped)
    resumed, whole = train(config, seeds=2, runs=tmp_path), train(config, seeds=2, runs=tmp_path / "whole")
    for a, b in zip(resumed, whole, strict=True):
        left, right = read_checkpoint(a).tensors, read_checkpoint(b).tensors
        assert all(torch.equal(left[name], right[name]) for name in right)


def test_a_grid_of_different_shapes_trains_as_several_fleets(tiny, tmp_path):
    configs = [
        replace(tiny, task=Modular(p=p, distractors=1, alphabet=2), epochs=5, seed=s) for p in (5, 7) for s in (0, 1)
    ]
    runs = train_all(configs, runs=tmp_path)
    assert [run.id for run in runs] == [config.id for config in configs]
    assert all(run.status == "done" for run in runs)


def test_a_teacher_hands_on_its_attention(tiny, tmp_path):
    (teacher,) = train(replace(tiny, prior=KL(beta=3.0), epochs=150), runs=tmp_path)
    student = replace(tiny, seed=4, prior=KL(beta=1.0, target="teacher", teacher=teacher.id))
    target = teacher_attention(student, tmp_path)
    torch.testing.assert_close(target.sum(-1), torch.ones(len(target)))
    assert (target[:, :2].sum(-1) > 0.8).all()  # the teacher was told where to look
    (run,) = train_all([student], runs=tmp_path)
    assert run.status == "done"


def test_a_teacher_must_exist_and_read_the_same_sequences(tiny, tmp_path):
    (teacher,) = train(replace(tiny, epochs=2), runs=tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(StoreError, match="no run in"):
        train(replace(tiny, prior=KL(beta=1.0, target="teacher", teacher="ffffff")), runs=tmp_path)
    other = replace(tiny, task=Modular(p=11), prior=KL(beta=1.0, target="teacher", teacher=teacher.id))
    with pytest.raises(ConfigError, match="was trained on other sequences"):
        train(other, runs=tmp_path)
    assert before == sorted(path.name for path in tmp_path.iterdir())


def test_nothing_is_written_for_a_run_that_cannot_be(tiny, tmp_path):
    good, bad = tiny, replace(tiny, model=Transformer(d=8, heads=3))
    with pytest.raises(ConfigError, match="heads"):
        train_all([good, bad], runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_devices():
    assert resolve_device("cpu").type == "cpu"
    for name in ("gpu", "mps", "quantum"):
        with pytest.raises(ConfigError, match="device"):
            resolve_device(name)
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="no CUDA device"):
            resolve_device("cuda")


def test_a_finished_run_is_returned_however_little_memory_is_free(tiny, tmp_path, monkeypatch):
    (run,) = train(tiny, runs=tmp_path)
    monkeypatch.setattr(training, "free_memory", lambda device: 1)
    for configs, again in (([replace(tiny, seed=1)], False), ([tiny], True)):
        with pytest.raises(ConfigError, match="of memory, and 1 B are free on cpu"):
            train_all(configs, runs=tmp_path, again=again)
    assert train(tiny, runs=tmp_path) == [run]
