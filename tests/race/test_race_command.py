"""The command: one line for what is wrong; a newcomer's method and track in one file each, from tuning to the leaderboard."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

import grokscope
from grokscope.cli import main, science
from grokscope.errors import ConfigError
from grokscope.experiments.base import find_experiment
from grokscope.ops.devices import device_name
from grokscope.store.results import load_results, save_results
from grokscope.store.tuned import save_tuned

RESULTS = Path(__file__).parents[2] / "results"
ALL = "times all methods of a track on this machine"


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def command(*words):
        monkeypatch.setattr("sys.argv", ["grokscope", *words])
        with pytest.raises(SystemExit) as end:
            main(list(words))
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return command


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("Q",), "track: none is called 'Q'. Choose from: A, B, C, D, E, controls."),
        (("A", "--methods", "adamv"), "method: no method is called 'adamv'. Did you mean adamw?"),
        (("A", "--methods", ","), "--methods: names no method; `grokscope list accelerators` shows the choices"),
        (
            ("A", "--draws", "1"),
            "--draws: 1 is too small a budget: there is nothing to choose from; take 2 or more",
        ),
        (("A", "--seeds", "0"), "--seeds: 0 is below 1"),
        (("A", "--show"), "--results: results has no quick results of track A yet; run grokscope race"),
        (("A", "--time-only"), "--time-only: results has no quick results of track A; run grokscope race"),
        (("A", "--time-only", "--methods", "lion"), f"--time-only: {ALL}; it does not go with --methods"),
        (("controls", "--time-only"), f"--time-only: {ALL}; it does not go with controls"),
        (("Controls", "--time-only"), f"--time-only: {ALL}; it does not go with controls"),
        (
            ("controls", "--tune-only"),
            "--tune-only: the controls have their authors' settings: there is nothing to tune",
        ),
        (
            ("controls", "--show"),
            "--results: results has no quick results of the controls yet; run grokscope race controls",
        ),
    ],
)
def test_what_is_wrong_is_one_line(run, words, line):
    code, out, err = run("race", *words)
    assert code == 2 and out == ""
    assert err.strip() == line


def test_steps_are_timed_on_the_device_of_the_runs(run, tmp_path):
    shutil.copytree(RESULTS / "race-A", tmp_path / "results" / "race-A")
    code, out, err = run("race", "A", "--full", "--time-only", "--quiet")
    assert code == 2 and out == ""
    assert err.startswith("--time-only: the runs are of NVIDIA H200; this is ") and err.count("\n") == 1


def test_new_times_take_the_place_of_old_ones(run, tmp_path, monkeypatch):
    stored = load_results(RESULTS, "race-A", "full")
    here = device_name(torch.device("cpu"))
    shutil.copytree(RESULTS / "race-A", tmp_path / "results" / "race-A")
    save_results(tmp_path / "results", stored._replace(about={**stored.about, "device": here}))
    asked = []
    monkeypatch.setattr(
        science, "_price", lambda table, own, *_: asked.extend(own) or table.assign(seconds_per_epoch=2.0)
    )
    monkeypatch.setattr(science, "_count", lambda table, own: table)
    code, out, err = run("race", "A", "--full", "--time-only", "--json", "--device", "cpu")
    assert code == 0, err
    assert {arm for arm, _ in asked} == set(stored.runs["arm"])
    now = load_results(tmp_path / "results", "race-A", "full")
    assert (now.runs["seconds_per_epoch"] == 2.0).all()
    pd.testing.assert_frame_equal(*(one.runs.drop(columns="seconds_per_epoch") for one in (stored, now)))
    assert json.loads(out)["tracks"][0]["rows"][0]["method"] == "egd"


def test_the_plan_trains_nothing(run, tmp_path):
    code, out, _ = run("race", "A", "E", "--full", "--plan")
    assert code == 0 and out.count("at most") == 2 and "1,672,000 run-steps of tuning" in out
    assert list(tmp_path.iterdir()) == []


def test_the_plan_and_what_was_tuned_are_printed_as_json_too(run):
    code, out, _ = run("race", "A", "controls", "--full", "--plan", "--methods", "adamw,stablemax", "--json")
    plan = json.loads(out)
    assert code == 0 and plan["controls"] == {"runs": 40, "run_steps": 3_200_000}
    assert plan["tracks"] == [{"track": "A", "methods": 2, "tuning": 304_000, "scoring": 80_000}]
    words = ("race", "A", "--methods", "adamw", "--tune-only", "--device", "cpu", "--quiet")
    code, out, _ = run(*words, "--json")
    assert code == 0 and json.loads(out)["race-A"]["adamw"]["sizes"] == [2, 1, 2]
    code, out, _ = run(*words)
    file = Path("results/race-A/quick/tuned.json")
    assert (code, out) == (0, f"race-A: settings of adamw in {file}\n") and file.is_file()


def test_the_plan_of_the_controls_is_of_the_methods_that_were_asked_for(run):
    code, out, err = run("race", "controls", "--full", "--plan", "--methods", "stablemax,lion")
    assert (code, out) == (0, "controls: 40 runs, at most 3,200,000 run-steps\n")
    assert err == "controls: lion has none (Its authors report nothing about grokking.)\n"


def test_controls_of_one_method_are_run_beside_stored_ones(run, tmp_path):
    stored = load_results(RESULTS, "race-controls", "full")
    others = stored.runs[~stored.runs["arm"].str.startswith("OrthoGrad")]
    quick = stored._replace(about={**stored.about, "scale": "quick"}, runs=others)
    save_results(tmp_path / "results", quick._replace(curves=stored.curves[stored.curves["run"].isin(others["run"])]))
    code, out, err = run("race", "controls", "--methods", "orthograd", "--seeds", "1", "--quiet", "--device", "cpu")
    assert code == 0, err
    now = load_results(tmp_path / "results", "race-controls", "quick").runs
    assert set(now["arm"]) == set(stored.runs["arm"])
    assert now[now["arm"].str.startswith("OrthoGrad")].groupby("arm").size().tolist() == [1, 1]
    assert set(others["run"]) < set(now["run"])
    assert "Positive controls" in out and "Track" not in out


def test_controls_of_another_length_have_no_verdict(run, tmp_path):
    stored = load_results(RESULTS, "race-controls", "full")
    save_results(tmp_path / "results", stored._replace(runs=stored.runs.assign(epochs=77)))
    code, out, _ = run("race", "controls", "--show", "--full", "--json")
    verdicts = {case["name"]: case["verdict"] for case in json.loads(out)["controls"]}
    assert code == 0 and verdicts["Muon"] == "to be run again for 6,000 epochs: these are 77"
    assert "agrees" not in verdicts.values()


def test_a_method_that_does_not_apply_is_named(run):
    code, out, err = run("race", "A", "--methods", "oracle,lion", "--plan")
    assert code == 0 and "1 method" in out
    assert err == "track A: oracle does not apply (prior.beta: model onehot-mlp has no attention to guide)\n"


def test_reproduce_refuses_what_is_not_tuned(run, tmp_path):
    code, _, err = run("reproduce", "race-A")
    assert code == 2 and err.startswith("race-A: not tuned yet: adamw, ") and err.endswith("run grokscope race A\n")
    experiment = find_experiment("race-A")
    methods = ("adamw", "decay", "sgd", "lion", "muon", "grokfast-ma", "grokfast-ema", "orthograd", "stablemax", "egd")
    table = {name: {"settings": {"optim.lr": 0.005}} for name in (*methods, "weight-noise")}
    save_tuned(tmp_path / "results", "race-A", "quick", table)
    prepared = experiment.prepare(experiment, tmp_path / "results", "quick")
    assert {config.optim.lr for _, config in prepared.configs("quick", 1)} == {0.005}
    with pytest.raises(ConfigError, match="not tuned yet"):
        experiment.prepare(experiment, tmp_path / "results", "full")


FILE = '''
"""A method and a track of one's own."""

from grokscope.models.transformer import Transformer
from grokscope.race.methods.base import ADAMW, Method, accelerators
from grokscope.race.space import LogUniform
from grokscope.race.tracks.base import Track, tracks
from grokscope.tasks.modular import Modular


@accelerators.register("smoothed")
class Smoothed(Method):
    """AdamW with a longer memory."""

    title = "smoothed"
    space = {**ADAMW, "optim.beta1": LogUniform(0.01, 0.5, complement=True)}
    uncontrolled = "It is an example."


@tracks.register("T")
class Tiny(Track):
    """Addition mod 13 among one distractor."""

    title = "tiny"
    task = Modular(p=13, distractors=1, alphabet=2, train_fraction=0.8)
    model = Transformer(d=8, d_mlp=16)
    horizon = 40
    every = 10
'''


WORKER = Path(__file__).parents[1] / "docs" / "command_worker.py"
"""Runs several commands in one process: what a file registers cannot be unloaded again."""


def test_a_newcomer_enters_with_one_file(tmp_path):
    (tmp_path / "mine.py").write_text(FILE, encoding="utf-8")
    sizes = ["race", "T", "--draws", "2", "--seeds", "2", "--device", "cpu", "--quiet"]
    timed = [word for word in sizes if word not in ("--draws", "--seeds", "2")]
    calls = [
        ["--load", "mine.py", *sizes, "--methods", "smoothed,search", "--json", "-o", "page.html"],
        [*sizes, "--methods", "adamw"],
        [*sizes, "--methods", "adamw", "--json"],
        [*timed, "--time-only", "--json"],
    ]
    done = subprocess.run(
        [sys.executable, str(WORKER)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(grokscope.__file__).parents[1])},
        input=json.dumps(calls),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    codes, (out, printed, again, timed) = zip(*json.loads(done.stdout), strict=True)
    assert codes == (0, 0, 0, 0), done.stderr
    (board,) = json.loads(out)["tracks"]
    rows = {row["method"]: row for row in board["rows"]}
    assert set(rows) == {"smoothed", "search"}
    assert "optim.beta1" in rows["smoothed"]["settings"] and rows["smoothed"]["tuning_steps"] > 0
    assert rows["search"]["note"] == "settings of adamw, not tuned itself"
    assert all(row["seeds"] == 2 for row in rows.values())
    assert "Track T: tiny" in (tmp_path / "page.html").read_text(encoding="utf-8")
    folder = tmp_path / "results" / "race-T" / "quick"
    assert {"tuned.json", "runs.parquet", "race-T-leaderboard.svg"} <= {path.name for path in folder.iterdir()}
    assert "smoothed" in printed and "AdamW" in printed, "stored methods stay on the board"
    before, now = ({row["method"]: row for row in json.loads(one)["tracks"][0]["rows"]} for one in (again, timed))
    assert len(now) == 3
    for name, row in now.items():
        assert row["first"] == before[name]["first"] and row["flops"] == before[name]["flops"], "nothing was trained"
    assert '"run_steps"' in done.stderr.splitlines()[0] and done.stderr.count('"run_steps"') == 1, "trained once"
