"""A race whose runs other processes train: the same leaderboard, and the same command continues it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import grokscope
from grokscope.launch import train_all
from grokscope.papers.race.collected import tournaments_of
from grokscope.priors.kl import KL
from grokscope.race.tuning import StoppedError
from grokscope.searching.training import Trainer
from grokscope.store import list_runs
from grokscope.tasks.modular import Modular

TRACK = Path(__file__).parent / "track_of_tests.py"
RACE = ["race", "T", "--methods", "adamw", "--draws", "2", "--seeds", "2", "--device", "cpu", "--json"]
TWO = ["--on", "local", "--set", "local.devices=cpu,cpu"]


def command(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "grokscope", "--load", str(TRACK), *RACE, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(grokscope.__file__).parents[1]), **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )


def rows(done: subprocess.CompletedProcess[str]) -> list[dict]:
    """The leaderboard without its seconds."""
    (board,) = json.loads(done.stdout)["tracks"]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in board["rows"]]


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> subprocess.CompletedProcess[str]:
    done = command(tmp_path_factory.mktemp("here"))
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_processes_of_this_machine_give_the_same_leaderboard_also_after_an_interrupt(here, tmp_path):
    stopped = command(tmp_path, *TWO, INTERRUPT_ONCE=str(tmp_path / "interrupted"))
    assert stopped.returncode == 130, stopped.stderr
    assert "stopped; everything is saved. To continue: grokscope --load" in stopped.stderr
    continued = command(tmp_path, *TWO)
    assert continued.returncode == 0, continued.stderr
    assert rows(continued) == rows(here)
    assert [row["method"] for row in rows(here)] == ["adamw"]
    assert '"run_steps"' in continued.stderr


def test_searches_are_trained_where_the_race_is_and_once(tiny, tmp_path):
    task = Modular(p=11, distractors=1, alphabet="operands", train_fraction=0.8, validation=0.1, confirmation=0.1)
    base = replace(tiny, task=task, prior=KL(), epochs=20, precision="float32")
    configs = tuple(replace(base, seed=seed) for seed in range(2))
    trained: list[str] = []

    def train(own, names):
        trained.extend(config.id for config in own)
        return train_all(own, runs=tmp_path, device="cpu", notify=lambda line: None)

    found = tournaments_of(configs, str(tmp_path), Trainer(train))
    assert [one.status for one in found.values()] == ["finished"] * 2
    assert set(trained) == {run.id for run in list_runs(tmp_path)}
    trained.clear()
    assert tournaments_of(configs, str(tmp_path), Trainer(train)) is found, "when the results are collected"
    assert trained == []
    with pytest.raises(StoppedError):
        tournaments_of(configs[:1], str(tmp_path / "elsewhere"), Trainer(lambda own, names: []))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--on", "slurn"], "--on: no executor is called 'slurn'. Did you mean slurm?"),
        (["--set", "optim.lr=0.1"], "optim.lr: belongs to no executor; the settings of a race are fixed"),
        (["--set", "ray.cpus=2"], "ray.cpus: takes effect with --on ray only"),
    ],
)
def test_a_wrong_place_is_one_line(run, words, line):
    code, out, err = run("race", "A", *words)
    assert (code, out, err.strip()) == (2, "", line)
