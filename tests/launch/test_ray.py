"""A real Ray cluster of two nodes on this machine: a node fails, a command detaches, a cancelled task is saved."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from test_chunks import bits

from grokscope.config import Log
from grokscope.errors import ConfigError, StoreError
from grokscope.launch import train_all
from grokscope.launch.jobs import records
from grokscope.store import lease, list_runs
from grokscope.store.results import load_results

pytest.importorskip("ray", reason="Ray is not installed: pip install 'grokscope[ray]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300, "health_check_failure_threshold": 3}
"""How soon Ray notices that a node failed."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    from ray.cluster_utils import Cluster

    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)  # for the workers
    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 1,
            "include_dashboard": False,
            "object_store_memory": 80_000_000,
            "_system_config": QUICK,
        },
    )
    yield made
    import ray

    ray.shutdown()
    made.shutdown()


def wait_until(condition, what):
    deadline = time.monotonic() + 120
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return found


def jobs_in_training(runs: Path) -> list[str]:
    """The tasks that hold a run."""
    found = [lease.read_holder(path) for path in runs.glob("*/lease-*") if not lease.is_free(path)]
    return [holder.job for holder in found if holder is not None]


def test_a_node_fails_in_mid_work_and_every_run_ends_with_the_same_bits(cluster, tiny, tmp_path):
    import threading

    node = cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
    configs = [replace(tiny, seed=seed, epochs=24, log=Log(every=12)) for seed in range(40)]
    runs = tmp_path / "ray"
    failures = []

    def kill_the_node():
        try:
            wait_until(
                lambda: any(job.startswith(f"ray {node.node_id[:8]}/") for job in jobs_in_training(runs)), "no run"
            )
            cluster.remove_node(node, allow_graceful=False)
        except BaseException as error:
            failures.append(error)

    killer = threading.Thread(target=kill_the_node)
    killer.start()
    trained = train_all(configs, on="ray", options={"ray.address": cluster.address}, runs=runs)
    killer.join()
    assert not failures
    assert [run.status for run in trained] == ["done"] * 40
    assert bits(trained) == bits(train_all(configs, runs=tmp_path / "local", device="cpu"))


DETACH = """
import os, sys
from pathlib import Path
from grokscope.config import RunConfig
from grokscope.launch import train_all
config = RunConfig.from_dict({"task": {"p": 11}, "epochs": 10_000_000})
train_all([config], on="ray", options={"ray.address": sys.argv[1]}, runs=sys.argv[2])
"""


def test_ctrl_c_detaches_and_cancel_saves_the_runs(cluster, tmp_path, run):
    runs = tmp_path / "runs"
    command = [sys.executable, "-c", DETACH, cluster.address, str(runs)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: jobs_in_training(runs), "no run")
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        words = process.stderr.read()
        assert process.wait() == 0
    assert "detached; the tasks continue. grokscope status shows them, grokscope cancel" in words
    assert [info.status for info in list_runs(runs)] == ["running"]
    code, out, _ = run("status", "--runs", runs)
    assert code == 0
    (record,) = records(runs)
    assert f"{record.name}/0" in out
    code, _, _ = run("cancel", record.name, "--runs", runs)
    assert code == 0
    wait_until(lambda: list_runs(runs)[0].status == "stopped", "still in training")
    assert not record.active()


@pytest.mark.slow
def test_a_race_on_the_cluster(cluster, tmp_path):
    """Tuning draws and scored seeds are trained by the cluster; only the seconds of this machine are missing."""
    track = Path(__file__).parents[1] / "race" / "track_of_tests.py"
    words = ["race", "T", "--methods", "adamw", "--draws", "2", "--seeds", "2", "--device", "cpu", "--json"]
    boards = []
    for name, place in {"ray": ["--on", "ray", "--set", f"ray.address={cluster.address}"], "local": []}.items():
        folder = tmp_path / name
        folder.mkdir()
        command = [sys.executable, "-m", "grokscope", "--load", str(track), *words, *place]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        left_out = "race-T: no seconds, since steps are timed on this machine only (--on local)"
        assert (left_out in done.stderr) == (folder / "runs" / ".jobs").is_dir() == (name == "ray")
        stored = load_results(folder / "results", "race-T", "quick")
        assert ("seconds_per_epoch" in stored.runs) == (name == "local")
        (board,) = json.loads(done.stdout)["tracks"]
        boards.append([{key: value for key, value in row.items() if key != "seconds"} for row in board["rows"]])
    assert boards[0] == boards[1]
    assert {row["method"] for row in boards[0]} == {"adamw"}


def test_tasks_that_cannot_be_recorded_are_not_begun(cluster, tiny, tmp_path, monkeypatch):
    """`grokscope status` and `cancel` would not find them."""
    from ray.util import list_named_actors

    from grokscope.launch.executors import ray as module

    def full(*words, **named):
        raise StoreError("disk full while writing a record")

    monkeypatch.setattr(module, "save_record", full)
    with pytest.raises(StoreError, match=r"^disk full"):
        train_all([tiny], on="ray", options={"ray.address": cluster.address}, runs=tmp_path / "runs")
    assert list_named_actors(all_namespaces=True) == []


def test_no_cluster_to_reach(tiny, tmp_path, monkeypatch):
    import ray

    ray.shutdown()
    with pytest.raises(
        ConfigError,
        match=r"^--on: no Ray cluster can be reached at 127\.0\.0\.1:1 \(.*\); start one with: ray start --head$",
    ):
        train_all([tiny], on="ray", options={"ray.address": "127.0.0.1:1"}, runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
