"""`grokscope runs` and `grokscope tag`: what is shown on a terminal and in a pipe, sorted, selected, named."""

import csv
import io
import json
import os
import re
from pathlib import Path

import pytest

from grokscope.cli import run_table
from grokscope.cli.selection import select_runs
from grokscope.store import RunInfo

TINY = [
    *("--set", "task.p=7", "--set", "task.alphabet=3", "--set", "task.train_fraction=0.6", "-q"),
    *("--set", "model.d=8", "--set", "model.d_mlp=16", "--set", "epochs=10", "--set", "log.every=5"),
]


@pytest.fixture
def runs(run):
    """Five runs of three arms, as the README's commands leave them."""
    run("train", *TINY, "--seeds", "2")
    run("train", *TINY, "--seeds", "2", "--prior", "kl", "--set", "prior.beta=0.3", "--name", "guided")
    words = ("train", "--task", "parity", "--optim", "muon", "--set", "loss=stablemax", *TINY[:1], "task.n=6")
    run(*words, *TINY[6:], "--set", "task.train_fraction=0.6")
    return json.loads(run("runs", "--json")[1])


@pytest.fixture
def narrow(monkeypatch):
    """A terminal of 80 columns."""

    def width(columns):
        monkeypatch.setattr(run_table.shutil, "get_terminal_size", lambda: os.terminal_size((columns, 24)))
        monkeypatch.setattr(run_table.sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("NO_COLOR", "1")

    return width


def test_in_a_pipe_nothing_is_cut_and_kinds_come_first(run, runs):
    code, out, err = run("runs")
    header, *rows = out.splitlines()
    assert (code, err) == (0, "")
    assert header.split()[:4] == ["run", "name", "task", "optim"]
    assert header.split()[-7:] == ["seed", "status", "epoch", "t_mem", "t_grok", "train", "test"]
    assert [row.split()[0] for row in rows[:-1]] == [one["id"] for one in runs]


@pytest.mark.parametrize("columns", [80, 100])
def test_on_a_terminal_every_line_fits(run, runs, narrow, columns, capsys):
    narrow(columns)
    from grokscope.store import list_runs

    run_table.table_of_runs(list_runs("runs"))
    out, err = capsys.readouterr()
    *lines, _ = out.splitlines()
    assert max(map(len, lines)) <= columns
    assert all(one["id"][:6] in out for one in runs)
    assert "never" in out
    assert "not shown" in err and "epoch" in err
    if columns == 80:
        assert "arm" in lines[0].split()
        assert "parity, muon, loss = stabl" in out


@pytest.mark.parametrize(
    "where, meant",
    [
        ("task=modulr", "no run has task = 'modulr'. Did you mean modular?"),
        ("beta=0.7", "no run has beta = '0.7'. The nearest are 0.3, 0."),
        ("name=guide", "no run has name = 'guide'. Did you mean guided?"),
        ("tag=draft", "no run has tag = 'draft'. There are none."),
    ],
)
def test_a_value_that_no_run_has_is_named_with_those_there_are(run, runs, where, meant):
    assert run("runs", "--where", where) == (0, "", f"{meant}\n")
    assert run("runs", "--where", where, "--json") == (0, "[]\n", f"{meant}\n")
    for words in (["report"], ["tag", "--add", "new"]):
        assert run(*words, "--where", where) == (2, "", f"--where: {meant}\n")
    assert not Path("report.html").exists()


def test_settings_that_no_run_has_together(run, runs):
    both = ("--where", "task=parity", "--where", "name=guided")
    assert run("runs", *both) == (0, "", "no runs\n")
    assert run("report", *both) == (2, "", "--where: no run has all of these settings\n")


def test_columns_sorting_and_csv(run, runs):
    out = run("runs", "--columns", "id, beta ,test_accuracy", "--sort", "-test", "--csv")[1]
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == ["run", "prior.beta", "test"]
    values = [float(row["test"]) for row in rows]
    assert values == sorted(values, reverse=True) and len(values) == 5
    exact = {one["id"]: one["test_accuracy"] for one in runs}
    assert {row["run"]: float(row["test"]) for row in rows} == exact
    # runs that have not grokked have no time: they come last, in either direction
    assert run("runs", "--sort", "t_grok")[0] == run("runs", "--sort", "-t_grok")[0] == 0


def test_the_kind_of_a_prior_is_never_shown_without_its_strength(run):
    """A run without a prior has kind kl in its settings, like the run with one."""
    for own in ([], ["--prior", "kl", "--set", "prior.beta=0.1"], ["--prior", "entropy", "--set", "prior.beta=0.1"]):
        assert run("train", *TINY, *own)[0] == 0
    rows = list(csv.DictReader(io.StringIO(run("runs", "--csv")[1])))
    assert {(row["prior.kind"], row["prior.beta"]) for row in rows} == {
        ("kl", "0.0"),
        ("kl", "0.1"),
        ("entropy", "0.1"),
    }
    header, *lines, _ = run("runs")[1].splitlines()
    assert header.split()[:3] == ["run", "prior", "beta"]
    assert {tuple(line.split()[1:3]) for line in lines} == {("kl", "0"), ("kl", "0.1"), ("entropy", "0.1")}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--columns", "t_grk"], "--columns: no column is called 't_grk'. Did you mean t_grok?"),
        (["--sort", "kind"], "--sort: kind is ambiguous: "),
        (["--csv", "--json"], "--csv: cannot be combined with --json"),
        (["--where", "prior.bta=1"], "prior.bta: no such setting. Did you mean prior.beta?"),
    ],
)
def test_what_is_wrong_is_one_line(run, runs, words, line):
    code, out, err = run("runs", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(line)


def test_where_knows_settings_with_dots_in_their_names():
    configs = ({"a.b": 1, "a": {"c.d": 2}}, {"a": {"b": 3}})
    found = [
        RunInfo(id=f"run{n}", path=Path(f"run{n}"), status="done", config=config) for n, config in enumerate(configs)
    ]
    for wanted, ids in (({"a.b": "1"}, ["run0"]), ({"a.b": "3"}, ["run1"]), ({"c.d": "2"}, ["run0"])):
        assert [one.id for one in select_runs(found, wanted)] == ids


def test_where_selects_by_settings_that_only_some_runs_have(run, runs):
    found = json.loads(run("runs", "--where", "n=6", "--json")[1])
    assert [one["config"]["task"]["kind"] for one in found] == ["parity"]
    assert len(json.loads(run("runs", "--where", "prior.beta=0.30", "--where", "name=guided", "--json")[1])) == 2


def test_a_name_is_no_part_of_a_run(run, runs):
    named = [one for one in runs if one.get("name")]
    assert [one["name"] for one in named] == ["guided"] * 2
    before = {one["id"]: one["config"] for one in runs}
    words = ("train", *TINY, "--seeds", "2", "--prior", "kl", "--set", "prior.beta=0.3")
    again = json.loads(run(*words, "--json", "--name", "other")[1])  # nothing is trained again
    assert {one["id"]: one["config"] for one in again}.items() <= before.items()
    assert {one["name"] for one in again} == {"other"}
    kept = json.loads(run(*words, "--json", "--again")[1])
    assert {one["name"] for one in kept} == {"other"}


def test_runs_are_tagged_selected_and_reported_by_name(run, runs, tmp_path):
    code, out, _ = run("tag", "--where", "beta=0", "--name", "free", "--add", "figure-2", "--json")
    assert code == 0 and {one["name"] for one in json.loads(out)} == {"free"}
    assert len(json.loads(run("runs", "--where", "tag=figure-2", "--json")[1])) == 3
    run("tag", "free", "--remove", "figure-2")
    assert json.loads(run("runs", "--where", "tag=figure-2", "--json")[1]) == []
    page = tmp_path / "free.html"
    assert run("report", "guided", "-o", page)[0] == 0
    assert all((one["id"] in page.read_text()) == (one.get("name") == "guided") for one in runs)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--name", "x"], "RUN: name the runs, or select them with --where\n"),
        (["--where", "seed=0"], "--name: give a name, or tags to --add or --remove\n"),
        (["--where", "seed=0", "--name", "a,b"], "--name: 'a,b' has a comma, a line break, or spaces at its ends\n"),
    ],
)
def test_tag_says_what_it_needs(run, runs, words, line):
    assert run("tag", *words)[::2] == (2, line)
    assert not any(one.get("name") == "x" for one in json.loads(run("runs", "--json")[1]))


def test_a_report_by_one_setting_with_a_reference(run, runs, tmp_path):
    page = tmp_path / "page.html"
    assert run("report", "--where", "task=modular", "--by", "beta", "--reference", "β = 0.3", "-o", page)[0] == 0
    text = page.read_text()
    assert "no prior: no median, 0 of 2 runs grokked." in text and "β = 0.3: no median" in text
    assert run("report", "--by", "bta", "-o", page)[0] == 2
    code, _, err = run("report", "--reference", "no prir", "--where", "task=modular", "-o", page)
    assert (code, err) == (2, "--reference: no arm is called 'no prir'. Did you mean no prior?\n")


def test_regression_has_r_squared_in_tables_and_reports(run, tmp_path):
    words = ("--set", "task.dimension=4", "--set", "task.train_size=20", "--set", "task.test_size=20", "-q")
    run("train", "--task", "polynomial", "--model", "committee", "--set", "loss=mse", *words, "--set", "epochs=10")
    _, out, _ = run("runs")
    assert "train R² ≥ 0.99, held 100 epochs; t_grok: test R² ≥ 0.99" in out and "%" not in out
    assert "Grokking (test R² ≥ 0.99, held 100 epochs)" in run("show", json.loads(run("runs", "--json")[1])[0]["id"])[1]
    assert run("report", "-o", str(tmp_path / "page.html"))[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert "test R²</th>" in page and "Grokked: test R² ≥ 0.99" in page and "test accuracy</th>" not in page
    run("train", *TINY)  # classes beside it
    assert "test accuracy or R² ≥ 0.99" in (out := run("runs")[1])
    assert re.search(r"R² = \d\.\d{3}", out) and re.search(r"\d\.\d%", out)
