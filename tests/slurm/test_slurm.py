"""A real SLURM: a sweep from the command line, requeueing, the time limit, cancelling, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cluster import missing, slurm_cluster

from grokscope.config import RunConfig
from grokscope.launch import train_all
from grokscope.store import list_runs, read_metrics

pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(missing()), reason=missing() or "installed")]

GRID = """
seeds = 6
epochs = {epochs}
[task]
p = 11
[log]
every = 10
[grid]
"prior.beta" = [0.0, 0.3]
"""
FOREVER = 10_000_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    folder = Path(tempfile.mkdtemp(prefix="gs-", dir="/tmp"))  # short: it holds sockets
    try:
        with slurm_cluster(folder) as env:
            yield {**env, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "OMP_NUM_THREADS": "1"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def grokscope(cluster: dict[str, str], tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def call(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "grokscope", *map(str, words)]
        return subprocess.run(command, env=cluster, cwd=tmp_path, capture_output=True, text=True, timeout=90)

    return call


@pytest.fixture
def slurm(cluster: dict[str, str]) -> Callable[..., str]:
    def call(*command: str) -> str:
        return subprocess.run(command, env=cluster, check=True, capture_output=True, text=True).stdout

    return call


def grid(folder: Path, epochs: int) -> Path:
    file = folder / "grid.toml"
    file.write_text(GRID.format(epochs=epochs))
    return file


@contextmanager
def begun(
    cluster: dict[str, str], folder: Path, grokscope: Any, *sets: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command in the background that submitted runs without an end, and the number of its job."""
    command = [
        sys.executable,
        "-m",
        "grokscope",
        "sweep",
        str(grid(folder, FOREVER)),
        "--on",
        "slurm",
        "--device",
        "cpu",
    ]
    command += [word for one in sets for word in ("--set", one)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=cluster, cwd=folder, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert "as SLURM job" in line
            yield process, line.split("job ")[1].split(";")[0]
        finally:
            process.kill()
            grokscope("cancel", "--all")


def until(condition: Callable[[], Any], what: str, seconds: float = 90) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
    return found


def training(runs: Path) -> int:
    return sum(run.status == "running" for run in list_runs(runs)) if runs.exists() else 0


def numbers(runs: Path) -> dict[str, dict[str, str]]:
    return {
        run.id: {
            name: str(values)
            for name, values in read_metrics(run).to_pydict().items()
            if not name.startswith("seconds")
        }
        for run in list_runs(runs)
    }


def test_a_sweep_gives_the_bits_of_this_machine(grokscope: Any, tmp_path: Path) -> None:
    file = grid(tmp_path, 40)
    words = (
        "sweep",
        file,
        "--on",
        "slurm",
        "--device",
        "cpu",
        "--set",
        "slurm.cpus=1",
        "--set",
        "slurm.runs=5",
        "--json",
    )
    done = grokscope(*words, "--runs", "far")
    assert done.returncode == 0, done.stderr
    assert "submitted 3 tasks as SLURM job" in done.stderr
    assert [run.status for run in list_runs(tmp_path / "far")] == ["done"] * 12
    configs = [RunConfig.from_dict(run.config) for run in list_runs(tmp_path / "far")]
    train_all(configs, runs=tmp_path / "near", device="cpu")
    assert numbers(tmp_path / "far") == numbers(tmp_path / "near")
    again = grokscope(*words, "--runs", "far")
    assert again.returncode == 0
    assert "submitted" not in again.stderr


def test_a_requeued_job_continues(
    cluster: dict[str, str], grokscope: Any, slurm: Callable[..., str], tmp_path: Path
) -> None:
    with begun(cluster, tmp_path, grokscope, "slurm.cpus=1", "slurm.runs=12") as (process, job):
        until(lambda: training(tmp_path / "runs"), "nothing trains")
        first = next(run for run in list_runs(tmp_path / "runs") if run.status == "running")
        slurm("scontrol", "requeue", job)
        until(lambda: not training(tmp_path / "runs"), "it was not stopped")
        stopped = next(run for run in list_runs(tmp_path / "runs") if run.id == first.id)
        assert stopped.status == "stopped"
        assert stopped.summary  # it was saved when it was asked to stop
        until(lambda: training(tmp_path / "runs"), "it does not continue", 300)
        process.send_signal(2)
        _, errors = process.communicate(timeout=60)
        assert "detached; the jobs continue" in errors
        shown = json.loads(grokscope("status", "--json").stdout)
        assert [one["state"].split()[0] for one in shown["jobs"]] == ["running"]
        assert shown["training"][0]["job"] == job
        same = [sys.executable, "-m", "grokscope", "sweep", "grid.toml", "--on", "slurm", "--device", "cpu"]
        with subprocess.Popen(same, env=cluster, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as again:
            assert again.stderr is not None
            assert again.stderr.readline().startswith(f"12 runs are in jobs that have not ended: {job} (running")
            again.kill()
        done = grokscope("cancel", job)
        assert done.stdout.startswith("cancelled 1 task;")
        until(lambda: not training(tmp_path / "runs"), "it was not cancelled")
        assert all(run.status == "stopped" for run in list_runs(tmp_path / "runs"))


def test_the_time_limit_saves_and_queues_again(
    cluster: dict[str, str], grokscope: Any, slurm: Callable[..., str], tmp_path: Path
) -> None:
    with begun(cluster, tmp_path, grokscope, "slurm.cpus=1", "slurm.runs=12", "slurm.time=2", "slurm.grace=75") as (
        _,
        job,
    ):
        until(lambda: "Restarts=1" in slurm("scontrol", "show", "job", job), "it was not queued again", 300)
        saved = max(run.epoch for run in list_runs(tmp_path / "runs"))
        assert saved > 0
        until(lambda: max(run.epoch for run in list_runs(tmp_path / "runs")) > saved, "it does not continue", 300)


def test_an_unknown_partition_is_one_line(grokscope: Any, tmp_path: Path) -> None:
    done = grokscope(
        "sweep",
        grid(tmp_path, 40),
        "--on",
        "slurm",
        "--device",
        "cpu",
        "--set",
        "slurm.partition=nowhere",
        "--runs",
        "x",
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "slurm.partition: 'nowhere' was refused: invalid partition specified: nowhere. Choose from: main."
    ]
    assert not list_runs(tmp_path / "x") if (tmp_path / "x").exists() else True


def test_no_controller_to_reach(cluster: dict[str, str], tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    text = Path(cluster["SLURM_CONF"]).read_text()
    conf.write_text("\n".join("SlurmctldPort=1" if "SlurmctldPort" in line else line for line in text.splitlines()))
    command = [sys.executable, "-m", "grokscope", "sweep", str(grid(tmp_path, 40)), "--on", "slurm", "--device", "cpu"]
    env = {**cluster, "SLURM_CONF": str(conf)}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=90)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("--on: ")
    assert "nable to contact slurm controller" in line
