"""grokscope status and cancel: what trains where, also where a cluster cannot be asked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from grokscope.launch import train_all
from grokscope.launch.executors.slurm import Slurm
from grokscope.launch.jobs import records, save_record
from grokscope.store import RunFolder


@pytest.fixture
def runs(tiny, tmp_path, monkeypatch):
    """Two finished runs, one in training, and a job of SLURM that has one of them and one that does not exist yet."""
    folder = tmp_path / "runs"
    finished = train_all([replace(tiny, seed=seed) for seed in range(2)], runs=folder, device="cpu")
    config = replace(tiny, seed=5, epochs=100)
    train_all([replace(config, epochs=10)], runs=folder, device="cpu")
    monkeypatch.setenv("GROKSCOPE_JOB", "12_0")
    training = RunFolder.create_or_open(
        folder, config.id, config.to_dict(), device="cpu", identity=type(config).identity_of
    )
    save_record(folder, Slurm(partition="gpu"), "first", {"12_0": [config.id, finished[0].id], "12_1": ["later"]})
    save_record(folder, Slurm(), "ended", {"11_0": [finished[1].id]})
    with training:
        yield folder


@pytest.fixture
def squeue(monkeypatch):
    """The states that SLURM gives, and the calls of scancel."""
    from grokscope.launch.executors import slurm

    called = []

    def call(command, *, unknown_is_empty=False):
        called.append(command)
        if command[0] == "squeue":
            return "12_0|RUNNING|node3|None\n12_1|PENDING||Resources\n" if "12" in command[-1] else ""
        return ""

    monkeypatch.setattr(slurm, "_call", call)
    monkeypatch.setattr(slurm, "_answers", {})
    return called


def test_what_trains_where(runs, squeue, run):
    code, out, err = run("status", "--runs", runs, "--json")
    assert (code, err) == (0, "")
    shown = json.loads(out)
    assert shown["jobs"] == [
        {"job": "12_0", "on": "slurm", "state": "running on node3", "runs": 2, "finished": 1},
        {"job": "12_1", "on": "slurm", "state": "pending (Resources)", "runs": 1, "finished": 0},
    ]
    (training,) = shown["training"]
    assert (training["epoch"], training["epochs"], training["job"]) == (10, 100, "12_0")
    assert training["epochs_per_s"] > 0
    assert training["seconds_left"] == pytest.approx(90 / training["epochs_per_s"])
    assert shown["total"]["runs"] == {"done": 2, "running": 1}
    assert shown["total"]["waiting"] == 1
    assert shown["total"]["seconds_left"] == pytest.approx((90 + 100) / training["epochs_per_s"])
    code, out, err = run("status", "--runs", runs)
    assert "running on node3" in out
    assert "10 / 100" in out
    assert "2 done, 1 running, 1 waiting for a job" in out
    assert [record.name for record in records(runs)] == ["first"]  # the other has ended


def test_a_cluster_that_cannot_be_asked_hides_nothing(runs, run, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = run("status", "--runs", runs)
    assert code == 0
    assert set(err.splitlines()) == {"slurm cannot be asked: --on: no SLURM on this machine: squeue is not in PATH"}
    assert "unknown" in out
    assert "10 / 100" in out


@pytest.mark.parametrize(
    ("words", "ended"),
    [(["12_1"], ["12_1"]), (["12"], ["12_0", "12_1"]), (["first"], ["12_0", "12_1"]), (["--all"], ["12_0", "12_1"])],
)
def test_cancel(runs, squeue, run, words, ended):
    code, out, _ = run("cancel", *words, "--runs", runs)
    assert code == 0
    assert out == f"cancelled {len(ended)} task{'s' * (len(ended) > 1)}; their runs are saved\n"
    assert [command[1:] for command in squeue if command[0] == "scancel"] == [ended]


def test_cancel_needs_a_job_that_exists(runs, squeue, run):
    assert run("cancel", "99", "--runs", runs)[::2] == (
        2,
        f"JOB: {runs} has no job '99'; grokscope status lists them\n",
    )
    assert run("cancel", "--runs", runs)[::2] == (2, "JOB: name jobs of `grokscope status`, or give --all\n")


def test_an_empty_folder(run, tmp_path):
    assert run("status", "--runs", tmp_path) == (0, "no runs\n", "")
