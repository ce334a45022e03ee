"""The example on each page is saved as a file, loaded as a user would, listed and trained, with the page's own commands."""

import base64
import json
import math
import re
import subprocess
import sys

import pytest
from pages import CONTRIBUTING, DOCS, blocks, commands

from grokscope import load_runs

SMALL = [
    *("--set", "epochs=80", "--set", "log.every=20", "--set", "task.train_size=150", "--set", "task.test_size=150"),
    *("--set", "model.d=32", "--set", "model.d_mlp=64", "--seeds", "1", "--device", "cpu", "--json"),
]
"""Appended to every training command of a page: later words win."""

PAGES = {
    "adding-a-task": ("task", "max"),
    "adding-a-prior": ("prior", "margin"),
    "adding-an-optimizer": ("optim", "normalised"),
    "adding-a-model": ("model", "positional"),
    "adding-a-pruning-rule": ("ticket", "neurons"),
}


def follow(page, folder, also=()):
    """Do what a page says, and check what holds for every example: it is listed, chosen, trained and measured.

    `also` are files to load with the example. Returns the metrics of all runs."""
    path, (room, name) = DOCS / f"{page}.md", PAGES[page]
    (code,) = blocks(path, "python")
    lines = commands(path)
    (file,) = {words[words.index("--load") + 1] for words in lines}
    (folder / file).write_text(code, encoding="utf-8")
    (folder / "docs").symlink_to(DOCS)
    # one process for all of them, so the file is loaded by the first only
    calls = [[*(word for one in also for word in ("--load", one)), *lines[0][1:]], *(words[3:] for words in lines[1:])]
    listed, *trained = run([[*words, *(SMALL if "train" in words else [])] for words in calls], folder)

    assert listed.startswith(f"{name}\n")
    about = code.split("kw_only=True)\n")[1].split('"""')[1]
    assert about in listed
    runs = [run for printed in trained for run in json.loads(printed)]
    assert runs and all(run["config"][room]["kind"] == name for run in runs)
    assert all(run["status"] in ("done", "grokked") for run in runs)

    table = load_runs(folder / "runs").sort_values("epoch")
    assert set(table["run"]) == {run["id"] for run in runs}
    measured = table.loc[:, "epoch":].drop(columns="seconds_per_step")  # unknown before the first step
    assert measured.map(math.isfinite).all(axis=None)
    assert (table["bound_ratio"] <= 1).all()
    for _, history in table.groupby("run"):
        assert history["train_loss"].iloc[-1] < 0.8 * history["train_loss"].iloc[0]
    return table


def run(calls, folder):
    """What each command prints; all must succeed."""
    worker = [sys.executable, __file__.replace("test_examples", "command_worker")]
    done = subprocess.run(worker, cwd=folder, input=json.dumps(calls), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    codes, printed = zip(*json.loads(done.stdout), strict=True)
    assert not any(codes), done.stderr
    return printed


@pytest.mark.parametrize("page", ["adding-an-optimizer", "adding-a-model", "adding-a-pruning-rule"])
def test_the_example_trains(page, tmp_path):
    follow(page, tmp_path)


def test_the_example_prior_brings_the_mass_it_asks_for(tmp_path):
    table = follow("adding-a-prior", tmp_path)
    constant = table[table["prior.schedule"] == "constant"]
    first, last = constant.iloc[0], constant.iloc[-1]
    assert last["prior_loss"] < 0.5 * first["prior_loss"]
    assert last["mass_mean"] > 0.35 > first["mass_mean"]


def test_the_example_task_is_learnt_and_the_example_measure_logged(tmp_path):
    (code,) = blocks(CONTRIBUTING, "python")
    (tmp_path / "measure.py").write_text(code, encoding="utf-8")
    table = follow("adding-a-task", tmp_path, also=["measure.py"])
    assert table["train_accuracy"].iloc[-1] > 0.9
    assert table["train_confidence"].between(1 / 37, 1).all()
    assert table["train_confidence"].iloc[-1] > table["train_confidence"].iloc[0]


def test_the_example_figure_is_drawn_on_report_pages(tmp_path):
    page = DOCS / "adding-a-figure.md"
    (code,) = blocks(page, "python")
    assert len(code.splitlines()) <= 40
    (tmp_path / "my_figure.py").write_text(code, encoding="utf-8")
    (tmp_path / "docs").symlink_to(DOCS)
    lines = commands(page)
    calls = [lines[0][1:], *(words[3:] for words in lines[1:])]  # one process: the file is loaded by the first only
    listed, *_ = run([[*words, *(SMALL if "train" in words else [])] for words in calls], tmp_path)
    about = code.split('Figure:\n    """')[1].split('"""')[0]
    assert listed == f"gap\n    {about}\n"
    caption = re.search(r'caption="(.*)"', code)[1]
    alone, after = ((tmp_path / name).read_text(encoding="utf-8") for name in ("gap.html", "all.html"))
    assert [html.count("<figure") for html in (alone, after)] == [1, 6]
    assert all("Generalisation gap" in html and caption in html for html in (alone, after))
    drawn = base64.b64decode(re.search(r"data:image/svg\+xml;base64,([\w+/=]+)", alone)[1]).decode()
    assert "training − test accuracy" in re.sub(r"<!--|-->", "", drawn)


def test_the_loop_of_ones_own_runs_and_keeps_the_bound(capsys):
    (code,) = blocks(DOCS / "on-your-own-network.md", "python")
    names = {}
    exec(compile(code, "on-your-own-network.md", "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert names["gradient"] <= names["bound"]
    first, last = (float(line.split("D ")[1].split(",")[0]) for line in (lines[0], lines[-1]))
    assert last < 0.1 * first
