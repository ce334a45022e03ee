"""Executors: how one is chosen, what travels to workers, and how faults of workers reach the user."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from grokscope import loading
from grokscope.config import Log, RunConfig
from grokscope.errors import ConfigError, StoreError
from grokscope.launch import train_all, worker
from grokscope.launch.chunks import Chunk
from grokscope.launch.executors import executors, parse_place
from grokscope.store import list_runs
from grokscope.tasks import tasks
from grokscope.tasks.modular import Modular

TWO = {"local.devices": "cpu,cpu"}
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path)}
"""For processes that start in another folder."""

MINE = """
from dataclasses import dataclass
from grokscope.tasks import tasks
from grokscope.tasks.modular import Modular
import helper

@tasks.register("mine")
@dataclass(frozen=True, kw_only=True)
class Mine(Modular):
    size: int = helper.SIZE
"""


@pytest.mark.parametrize(
    ("on", "settings", "message"),
    [
        ("slurn", {}, "--on: no executor is called 'slurn'. Did you mean slurm?"),
        ("slurm://head", {}, "--on: slurm takes no address; write --on slurm"),
        ("slurm", {"slurm.partitoin": "x"}, "slurm.partitoin: no such setting. Did you mean slurm.partition?"),
        ("slurm", {"slurm.time": "soon"}, "slurm.time: 'soon' is not an integer"),
        ("slurm", {"slurm.time": 0}, "slurm.time: 0 is not positive"),
        ("slurm", {"slurm.time": 1, "slurm.grace": 60}, "slurm.grace: 60 seconds are not less than the time limit"),
        ("ray", {"ray.gpus": 4}, "ray.gpus: 4 is neither 0 nor 1: a task trains on one device"),
        ("local", {"local.processes": -1}, "local.processes: -1 is below 0; 0 is one per core"),
        (
            "local",
            {"local.processes": 2, "local.devices": "cpu"},
            "local.processes: 2 processes beside local.devices, which names one device per process; give one of them",
        ),
        ("local", {"slurm.time": 5}, "slurm.time: takes effect with --on slurm only"),
    ],
)
def test_a_wrong_place_is_one_line(on, settings, message):
    with pytest.raises(ConfigError) as error:
        parse_place(on, dict(settings))
    assert str(error.value) == message


def test_settings_of_the_place_are_taken_out_of_those_of_the_runs():
    settings = {"task.p": "7", "ray.cpus": "2"}
    place = parse_place("ray://head:10001", settings)
    assert (place.address, place.cpus) == ("ray://head:10001", 2)
    assert settings == {"task.p": "7"}
    assert parse_place("ray", {}).address == "auto"


@pytest.mark.parametrize("devices", ["cuda:7", "cpu,cuda:7"])
def test_a_device_that_does_not_exist_is_not_replaced_by_another(tiny, tmp_path, devices):
    with pytest.raises(ConfigError, match=r"^device: "):
        train_all([tiny], options={"local.devices": devices}, runs=tmp_path / "runs", device="auto")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("on", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_package_that_is_not_installed_is_one_line(tiny, tmp_path, monkeypatch, on, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError) as error:
        train_all([tiny], on=on, runs=tmp_path / "runs", device="cpu")
    line = f"--on: {on} needs the package {package}, which is not installed: pip install 'grokscope[{on}]'"
    assert str(error.value) == line
    assert not list(tmp_path.glob("runs/[!.]*"))


def test_no_slurm_on_this_machine_is_one_line(tiny, tmp_path, monkeypatch):
    pytest.importorskip("submitit", reason="submitit is not installed: pip install 'grokscope[slurm]'")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"^--on: no SLURM on this machine: sbatch and srun are not in PATH$"):
        train_all([tiny], on="slurm", runs=tmp_path / "runs", device="cpu")


def test_packages_of_clusters_are_imported_only_when_they_are_used(tmp_path):
    code = (
        "import sys; from grokscope import RunConfig, train_all;"
        "from grokscope.launch.executors import executors; print(len(executors.entries()));"
        "train_all([RunConfig.from_dict({'epochs': 2, 'task': {'p': 7}})], runs=sys.argv[1], device='cpu');"
        "print([name for name in ('ray', 'submitit', 'grpc') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == [str(len(executors.entries())), "[]"]


@pytest.fixture
def task(tiny, tmp_path):
    return worker.make_task(Chunk(configs=(tiny,)), runs=tmp_path / "runs", device="cpu")


def test_a_task_is_plain_json(task, tiny):
    assert json.loads(json.dumps(task)) == task
    assert RunConfig.from_dict(task["configs"][0]) == tiny


def test_a_worker_with_another_version_refuses(task, tmp_path):
    outcome = worker.work({**task, "version": "0.0.9 (12345678)"})
    assert outcome["refused"]
    assert outcome["problem"] == (
        f"it has grokscope {worker.code_version()}, the command has 0.0.9 (12345678); install the same version"
    )
    assert not (tmp_path / "runs").exists()


def test_the_user_is_told_which_worker_refused(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "code_version", lambda: "0.0.9 (12345678)")
    with pytest.raises(
        ConfigError, match=r"^--on: a worker refused the runs\. .+: it has grokscope .*; install the same"
    ):
        train_all([replace(tiny, seed=seed) for seed in range(2)], options=TWO, runs=tmp_path / "runs", device="cpu")
    assert not list(tmp_path.glob("runs/[!.]*"))


def test_what_a_worker_does_not_have_is_refused(tiny, tmp_path):
    @tasks.register("of-this-test")
    @dataclass(frozen=True, kw_only=True)
    class Mine(Modular):
        pass

    try:
        config = replace(tiny, task=Mine(p=7))
        with pytest.raises(
            ConfigError, match=r"^task: Mine is defined in .*test_executors, which workers do not have; put it in"
        ):
            train_all([config], options=TWO, runs=tmp_path / "runs", device="cpu")
    finally:
        del tasks._entries["of-this-test"]
    with pytest.raises(ConfigError, match=r"^track: .* cannot travel to a worker; give the name of a tracker$"):
        train_all([tiny], options=TWO, runs=tmp_path / "runs", device="cpu", track=lambda name, config: None)


TRAVEL = """
import json, os, sys
from grokscope.launch import worker
task = json.load(open(sys.argv[1]))
print(json.dumps(worker.work(task)))
"""


def test_loaded_files_travel_and_are_recorded_with_their_first_paths(tmp_path):
    """The worker is a process that never saw the files, which are gone by then."""
    home = tmp_path / "mine"
    home.mkdir()
    (home / "helper.py").write_text("SIZE = 3\n")
    (home / "tasks.py").write_text(MINE)
    make = (
        "import json, sys; from pathlib import Path; from grokscope.loading import load_file;"
        "load_file(Path(sys.argv[1])); from grokscope.config import RunConfig; from grokscope.launch import worker;"
        "from grokscope.launch.chunks import Chunk;"
        "config = RunConfig.from_dict({'task': {'kind': 'mine', 'p': 7}, 'epochs': 3});"
        "task = worker.make_task(Chunk(configs=(config,)), runs=Path(sys.argv[2]), device='cpu'); print(json.dumps(task))"
    )
    words = [sys.executable, "-c", make, str(home / "tasks.py"), str(tmp_path / "runs")]
    made = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300).stdout
    (tmp_path / "task.json").write_text(made)
    for file in home.iterdir():
        if file.is_file():
            file.unlink()
    words = [sys.executable, "-c", TRAVEL, str(tmp_path / "task.json")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=ENV)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problem"] == ""
    (run,) = list_runs(tmp_path / "runs")
    assert run.status == "done"
    assert {file["path"]: file["source"] for file in run.manifest["loaded"]} == {
        str(home / "tasks.py"): MINE,
        str(home / "helper.py"): "SIZE = 3\n",
    }


def test_a_task_that_finds_its_files_loaded_does_not_load_them_again(tmp_path, monkeypatch):
    monkeypatch.setattr(
        loading, "_files", {tmp_path / "a.py": loading.LoadedFile(tmp_path / "a.py", b"1", "/far/a.py")}
    )
    monkeypatch.setattr(loading, "load_file", lambda path: pytest.fail("loaded again"))
    loading.load_copies([{"path": "/far/a.py", "content": "MQ==", "loaded": True}])


def test_a_full_disk_on_one_worker_loses_nothing(tiny, tmp_path):
    """The first worker's files are limited to a size that its checkpoints exceed, as by a quota."""
    configs = [replace(tiny, seed=seed, epochs=30, log=Log(every=10)) for seed in range(4)]
    code = (
        "import json, resource, signal, sys; from grokscope.launch import worker; task = json.load(open(sys.argv[1]));"
        "import torch; from grokscope.launch.local import train_all; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)); print(json.dumps(worker.work(task)))"
    )
    chunk = Chunk(configs=tuple(configs[:2]))
    (tmp_path / "task.json").write_text(json.dumps(worker.make_task(chunk, runs=tmp_path / "runs", device="cpu")))
    words = [sys.executable, "-c", code, str(tmp_path / "task.json")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    problem = json.loads(done.stdout)["problem"]
    assert problem.startswith("2 of 2 runs failed; the same command tries them again. The first: run ")
    assert "disk full while writing" in problem
    assert {run.status for run in list_runs(tmp_path / "runs")} == {"failed"}
    trained = train_all(configs, options=TWO, runs=tmp_path / "runs", device="cpu")
    assert [run.status for run in trained] == ["done"] * 4


def test_a_worker_process_that_is_killed_is_replaced(tiny, tmp_path, monkeypatch):
    """Each process of the first two kills itself when the runs begin; what they had is trained by the next."""
    from grokscope.launch.executors import local as module

    mark = tmp_path / "mark"
    killing = f"""
import os
from pathlib import Path
from grokscope.measures import measures

if not Path({str(mark)!r}).exists() and os.environ.get("GROKSCOPE_TEST_KILL"):
    Path({str(mark)!r}).touch()
    os.kill(os.getpid(), 9)
"""
    (tmp_path / "killing.py").write_text(killing)
    monkeypatch.setattr(
        worker,
        "travelling_files",
        lambda: [{"path": str(tmp_path / "killing.py"), "content": _base64(killing), "loaded": True}],
    )
    monkeypatch.setenv("GROKSCOPE_TEST_KILL", "1")
    configs = [replace(tiny, seed=seed) for seed in range(2)]
    assert [run.status for run in train_all(configs, options=TWO, runs=tmp_path / "runs", device="cpu")] == ["done"] * 2
    assert mark.exists()
    monkeypatch.setattr(module, "RETRIES", 0)
    mark.unlink()
    with pytest.raises(
        StoreError, match=r"^1 task failed; the same command tries again\. The first: 1 task ended twice by a signal"
    ):
        train_all([replace(tiny, seed=9)], options=TWO, runs=tmp_path / "runs", device="cpu")


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FOREVER = """
import sys
from dataclasses import replace
from grokscope import RunConfig, train_all

if __name__ == "__main__":
    base = RunConfig.from_dict({"task": {"p": 11}, "epochs": 10_000_000, "log": {"every": 10}})
    configs = [replace(base, seed=seed) for seed in range(2)]
    trained = train_all(configs, options={"local.devices": "cpu,cpu"}, runs=sys.argv[1], device="cpu")
    print(*(run.status for run in trained))
"""


def test_ctrl_c_saves_the_runs_of_every_process(tmp_path):
    (tmp_path / "forever.py").write_text(FOREVER)
    words = [sys.executable, str(tmp_path / "forever.py"), str(tmp_path / "runs")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV) as process:
        _until(lambda: len(_held(tmp_path / "runs")) == 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert out.split() == ["stopped", "stopped"], err
    assert not _held(tmp_path / "runs")


def _held(runs: Path) -> list[Path]:
    return [path for path in runs.glob("*/lease-*") if path.name != "lease-free"]


def _until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
