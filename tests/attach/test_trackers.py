"""Rows in experiment trackers, from a scope and from training; nothing leaves the machine."""

import contextlib
import os
import sqlite3
import subprocess
import sys

import pytest
import torch
from networks import MinGPT, batch

import grokscope
from grokscope.errors import ConfigError
from grokscope.trackers import open_tracker, trackers

MASK = torch.tensor([True, True, False, False, False])


class Memory:
    """A tracker of one's own."""

    def __init__(self):
        self.rows, self.finished = [], 0

    def log(self, row):
        self.rows.append(dict(row))

    def finish(self):
        self.finished += 1


def watched(**how):
    torch.manual_seed(0)
    model = MinGPT(1)
    with grokscope.watch(model, informative=MASK, every=2, name="mine", **how) as scope:
        for _ in range(5):
            model(batch()[0]).sum().backward()
            scope.step(train_loss=1.5, test_accuracy=0.25)
    return scope


def scalars(folder):
    pytest.importorskip("tensorboard", reason="needs grokscope[tensorboard]")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return {name: [(e.step, e.value) for e in events.Scalars(name)] for name in events.Tags()["scalars"]}


def test_a_tracker_of_ones_own():
    memory = Memory()
    scope = watched(track=memory)
    assert memory.rows == scope.rows and memory.finished == 1
    assert [row["epoch"] for row in memory.rows] == [0, 2, 4]


def test_tensorboard_from_a_scope(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard", reason="needs grokscope[tensorboard]")
    monkeypatch.chdir(tmp_path)
    scope = watched(track="tensorboard")
    found = scalars(tmp_path / "tensorboard" / "mine")
    assert found["D"] == [(row["epoch"], pytest.approx(row["D"], rel=1e-6)) for row in scope.rows]
    assert found["test_accuracy"] == [(0, 0.25), (2, 0.25), (4, 0.25)]


def test_tensorboard_from_training(tiny, tmp_path, run):
    pytest.importorskip("tensorboard", reason="needs grokscope[tensorboard]")
    words = (
        "--set",
        "epochs=10",
        "--set",
        "log.every=5",
        "--set",
        "task.p=5",
        "--set",
        "model.d=8",
        "--set",
        "model.d_mlp=16",
    )
    code, _, err = run("train", *words, "--seeds", 2, "--device", "cpu", "--quiet", "--to", "tensorboard")
    assert code == 0, err
    runs = grokscope.list_runs("runs")
    table = grokscope.load_runs("runs")
    assert len(runs) == 2
    for one in runs:
        own = table[table["run"] == one.id]
        (folder,) = [path for path in (tmp_path / "tensorboard").iterdir() if path.name == one.id]
        assert scalars(folder)["D"] == [
            (epoch, pytest.approx(D, rel=1e-6)) for epoch, D in zip(own["epoch"], own["D"], strict=True)
        ]


def test_from_python(tiny, tmp_path):
    memory = Memory()
    grokscope.train(tiny, runs=tmp_path, device="cpu", track=memory)
    assert [row["epoch"] for row in memory.rows] == [0, 5, 10, 12] and memory.finished == 1
    grokscope.train(tiny, runs=tmp_path, device="cpu", track=memory)
    assert memory.finished == 1  # a finished run is not trained again


class Package:
    """Stands for wandb and trackio: `init` returns an object with `log` and `finish`."""

    def __init__(self):
        self.given, self.rows, self.ended = None, [], False

    def init(self, **given):
        self.given = given
        return self

    def log(self, row, step):
        self.rows.append((step, row))

    def finish(self):
        self.ended = True


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_packages_shaped_like_wandb(name, monkeypatch):
    package = Package()
    monkeypatch.setitem(sys.modules, name, package)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    tracker = open_tracker(name, "mine", {"prior": {"beta": 0.3}})
    tracker.log({"epoch": 5, "D": 0.5, "test_loss": float("nan")})
    tracker.finish()
    assert package.rows == [(5, {"D": 0.5})] and package.ended
    assert package.given["name"] == "mine" and package.given["config"] == {"prior.beta": 0.3}
    assert package.given.get("mode") == ("offline" if name == "wandb" else None)


def test_wandb_offline(tmp_path, monkeypatch):
    """The real package, where it is installed."""
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.chdir(tmp_path)
    code = "import sys; sys.path.insert(0, sys.argv[1]); from test_trackers import watched; watched(track='wandb')"
    done = subprocess.run(
        [sys.executable, "-c", code, str(__file__).rpartition("/")[0]], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "wandb").glob("offline-run-*")
    assert any(folder.glob("run-*.wandb"))


def test_trackio_on_this_machine(tmp_path):
    """The real package, where it is installed: its rows are in a database in its own folder."""
    pytest.importorskip("trackio", reason="trackio is not installed")
    code = "import sys; sys.path.insert(0, sys.argv[1]); from test_trackers import watched; watched(track='trackio')"
    done = subprocess.run(
        [sys.executable, "-c", code, str(__file__).rpartition("/")[0]],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "TRACKIO_DIR": str(tmp_path), "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    with contextlib.closing(sqlite3.connect(tmp_path / "grokscope.db")) as database:
        assert database.execute("select count(*) from metrics").fetchone()[0] >= 3


def test_a_missing_package_is_one_line_with_the_command(monkeypatch):
    for name in trackers.entries():
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ConfigError, match=rf"{name} is not installed: pip install 'grokscope\[{name}\]'"):
            open_tracker(name, "mine", {})


def test_unknown_trackers():
    with pytest.raises(ConfigError, match=r"no tracker is called 'tensorbord'\. Did you mean tensorboard"):
        open_tracker("tensorbord", "mine", {})
    with pytest.raises(ConfigError, match="object has no log"):
        watched(track=[object()])


def test_nothing_is_imported_unless_it_is_asked_for():
    code = (
        "import sys, grokscope; grokscope.watch; "
        "print([n for n in ('transformers', 'transformer_lens', 'lightning', 'wandb', 'tensorboard') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
