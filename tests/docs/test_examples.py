"""The example on each page is saved as a file, loaded as a user would, listed and trained, with the page's own commands."""

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
    "adding-a-task": [("task", "max")],
    "adding-a-prior": [("prior", "margin")],
    "adding-an-optimizer": [("optim", "normalised")],
    "adding-a-model": [("model", "positional")],
    "adding-an-attention": [("model.attention", "sigmoid"), ("model.positions", "alibi")],
    "adding-a-pruning-rule": [("ticket", "neurons")],
}
"""What the files of each page add: the component and its name."""


def follow(page, folder, also=()):
    """Do what a page says, and check what holds for every example: it is listed, chosen, trained and measured.

    `also` are files to load with the example. Returns the metrics of all runs."""
    path, lines = DOCS / f"{page}.md", commands(DOCS / f"{page}.md")
    files = list(dict.fromkeys(words[words.index("--load") + 1] for words in lines))
    (folder / "docs").symlink_to(DOCS)
    printed = []
    for file, code in zip(files, blocks(path, "python"), strict=True):
        (folder / file).write_text(code, encoding="utf-8")
        own = [words[3:] + (SMALL if "train" in words else []) for words in lines if words[2] == file]
        # one process for all of them, so the file is loaded by the first only
        loads = [word for one in (*also, file) for word in ("--load", one)]
        printed.append(run([[*loads, *own[0]], *own[1:]], folder))
    runs = []
    for (component, name), code, (listed, *trained) in zip(PAGES[page], blocks(path, "python"), printed, strict=True):
        first_line = code.split("kw_only=True)\n")[1].split('"""')[1]
        if "." not in component:
            assert listed.startswith(f"{name}\n") and first_line in listed
        else:
            (setting,) = [line for line in listed.splitlines() if line.strip().startswith(f"{component} ")]
            assert name in setting.split("One of")[1]
        own = [run for text in trained for run in json.loads(text)]
        assert own and all(kind_of(run["config"], component) == name for run in own)
        assert all(run["status"] in ("done", "grokked") for run in own)
        runs += own

    table = load_runs(folder / "runs").sort_values("epoch")
    assert set(table["run"]) == {run["id"] for run in runs}
    assert (table["bound_ratio"] <= 1).all()
    assert table.loc[:, "epoch":].notna().any().all()
    for _, history in table.groupby("run"):
        measured = history.loc[:, "epoch":].drop(columns="seconds_per_step")  # unknown before the first step
        assert measured.dropna(axis=1, how="all").map(math.isfinite).all(axis=None)  # others are other runs' columns
        assert history["train_loss"].iloc[-1] < 0.8 * history["train_loss"].iloc[0]
    return table


def kind_of(config, component):
    """The kind that a config has for a component such as ``model.attention``."""
    for field in component.split("."):
        config = config[field]
    return config["kind"]


def run(calls, folder):
    """What each command prints; all must succeed."""
    worker = [sys.executable, __file__.replace("test_examples", "command_worker")]
    done = subprocess.run(worker, cwd=folder, input=json.dumps(calls), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    codes, printed = zip(*json.loads(done.stdout), strict=True)
    assert not any(codes), done.stderr
    return printed


@pytest.mark.parametrize(
    "page", ["adding-an-optimizer", "adding-a-model", "adding-an-attention", "adding-a-pruning-rule"]
)
def test_the_example_trains(page, tmp_path):
    follow(page, tmp_path)


@pytest.mark.parametrize("number", [0, 1])
def test_a_part_is_a_file_of_sixty_lines(number):
    assert len(blocks(DOCS / "adding-an-attention.md", "python")[number].splitlines()) <= 60


def test_the_example_prior_brings_the_mass_it_asks_for(tmp_path):
    table = follow("adding-a-prior", tmp_path)
    constant = table[table["prior.schedule"] == "constant"]
    first, last = constant.iloc[0], constant.iloc[-1]
    assert last["prior_loss"] < 0.5 * first["prior_loss"]
    assert last["mass_mean"] > 0.35 > first["mass_mean"]


def test_the_example_task_is_learnt_and_the_example_measure_logged(tmp_path):
    code, _ = blocks(CONTRIBUTING, "python")
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
    drawn = re.search(r"<figure.*?(<svg.*?</svg>)", alone, re.DOTALL)[1]
    assert "training − test accuracy" in drawn


def test_the_loop_of_ones_own_runs_and_keeps_the_bound(capsys):
    _, code = blocks(DOCS / "on-your-own-network.md", "python")
    names = {}
    exec(compile(code, "on-your-own-network.md", "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert names["gradient"] <= names["bound"]
    first, last = (float(line.split("D ")[1].split(",")[0]) for line in (lines[0], lines[-1]))
    assert last < 0.1 * first


def test_a_network_of_ones_own_is_watched(capsys, tmp_path, monkeypatch):
    code, _ = blocks(DOCS / "on-your-own-network.md", "python")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, "on-your-own-network.md", "exec"), names)
    assert capsys.readouterr().out.startswith("Net: sdpa\n")
    rows = names["scope"].rows
    assert [row["epoch"] for row in rows] == [0, 25, 50, 75, 100]
    assert rows[-1]["D"] < 0.1 * rows[0]["D"] and rows[-1]["train_loss"] < 0.5 * rows[0]["train_loss"]
    assert (tmp_path / "mine.html").stat().st_size > 10_000
    assert len(load_runs(tmp_path / "runs" / "mine")) == 5


def test_the_example_claim_is_one():
    from grokscope.experiments import base, clocks, rules
    from grokscope.experiments.frozen import rule_hash

    _, code = blocks(CONTRIBUTING, "python")
    claim = eval(code, {**vars(base), **vars(clocks), **vars(rules)})
    assert claim.name == "accelerates" and rule_hash(claim)
    assert isinstance(claim.rule.rule, rules.Sooner)


def test_the_example_method_races(tmp_path):
    page = DOCS / "adding-a-method.md"
    (code,) = blocks(page, "python")
    (tmp_path / "my_method.py").write_text(code, encoding="utf-8")
    lines = commands(page)
    small = ["--draws", "2", "--seeds", "1", "--device", "cpu", "--json"]
    calls = [
        lines[0][1:],
        *([*words[3:], *small] for words in lines[1:]),
    ]  # one process: the file is loaded by the first only
    listed, raced, shown = run(calls, tmp_path)
    assert listed == "memory\n    AdamW whose mean of gradients has a tuned memory.\n"
    rows = json.loads(raced)["tracks"][0]["rows"]
    assert {row["method"] for row in rows} == {"adamw", "memory"} and json.loads(shown)["tracks"][0]["rows"] == rows
    assert all(row["tuning_steps"] > 0 for row in rows)
