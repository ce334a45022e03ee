"""`grokscope list`: everything, every setting, every column, each with its meaning."""

import json
import os
import re
from pathlib import Path

import pytest

from grokscope.cli import listing
from grokscope.cli.listing import COMPONENTS, PARTS, column_meanings
from grokscope.config import RunConfig
from grokscope.describe import listed_terms, settings_of
from grokscope.settings import flatten

ROOT = Path(__file__).parents[2]


def test_alone_it_lists_every_entry_of_every_component(run):
    code, out, _ = run("list")
    assert code == 0
    for component in (*COMPONENTS, *PARTS):
        assert f"\n{component}\n" in f"\n{out}"
        names = listing._registry(component)[0].entries()
        assert not [name for name in names if not re.search(rf"^    {re.escape(name)}( |$)", out, re.MULTILINE)]
    assert set(json.loads(run("list", "--json")[1])) == {*COMPONENTS, *PARTS}


def test_every_setting_is_explained(run):
    code, out, _ = run("list", "settings", "--json")
    rows = json.loads(out)
    assert code == 0 and not [row["name"] for row in rows if not row["meaning"]]
    names = {row["name"] for row in rows}
    assert {name.removesuffix(".kind") for name in flatten(RunConfig().to_dict())} <= names
    assert rows == settings_of(RunConfig)


def test_settings_under_a_name(run):
    out = run("list", "settings", "stop")[1]
    assert [line.split()[0] for line in out.splitlines()] == ["stop.accuracy", "stop.window", "stop.extend"]
    assert run("list", "settings", "precision")[1].startswith("precision  auto  Precision of matrix products")
    assert run("list", "settings", "priro")[::2] == (2, "priro: no such setting. Did you mean prior?\n")


def test_a_setting_that_is_a_name_lists_the_names(run):
    out = run("list", "settings", "loss")[1]
    assert out.startswith("loss  cross_entropy  ") and "One of cross_entropy, mse, stablemax." in out


def test_a_choice_among_words_lists_those_that_its_meaning_does_not_name(run):
    out = run("list", "settings", "constraint.attention")[1]
    assert out.endswith("at uniform weights. One of learned, oracle, oracle-by-head, uniform.\n")
    assert "One of query" not in run("list", "settings", "model.scope")[1]  # "query: …; causal: …; full: …"
    assert "One of all, unordered, a>=b." in run("list", "tasks", "modular")[1]


def test_no_entry_ends_in_mid_sentence(run):
    """First sentences may take two lines of a docstring."""
    entries = json.loads(run("list", "--json")[1])
    assert entries["losses"]["mse"].endswith("(x − y)² of the one output.")
    assert entries["rivals"]["gf2"].endswith("the solution with the best accuracy on all training examples counts.")
    # the entries of optimizers and filters are formulas
    prose = {
        key: about
        for name, own in entries.items()
        if name not in ("optimizers", "filters")
        for key, about in own.items()
    }
    assert [key for key, about in prose.items() if not about.endswith((".", "?", ")"))] == []


def test_every_column_of_a_trained_run_is_explained(run, tiny, tmp_path):
    from dataclasses import replace

    from grokscope import train
    from grokscope.store import read_metrics
    from grokscope.tasks.modular import Modular

    task = Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6, validation=0.2)
    configs = [replace(tiny, task=task, model=replace(tiny.model, heads=2)), RunConfig.from_dict(SMALL)]
    _, rows = column_meanings().values()
    patterns = [re.compile(re.sub(r"\{\w+\}", r"[\\w.]+", name)) for name in rows]
    assert all(rows.values())
    seen = set()
    for config in configs:
        (trained,) = train(config, runs=tmp_path / "runs", device="cpu")
        seen |= set(read_metrics(trained).column_names)
    assert {"val_loss", "entropy_head_1", "fourier_entropy_in", "bound_ratio", "D"} <= seen
    assert not [column for column in seen if not any(pattern.fullmatch(column) for pattern in patterns)]


def test_every_column_of_stored_results_is_explained(run):
    """All that the published results have, settings and the numbers that single experiments collect aside."""
    import pyarrow.parquet as pq

    from grokscope.experiments.collected import registered

    listed = json.loads(run("list", "columns", "--json")[1])
    patterns = [re.compile(re.sub(r"\{\w+\}", r"\\w+", name)) for name in listed[listing.RESULTS]]
    assert all(listed[listing.RESULTS].values())
    settings = {row["name"] for row in settings_of(RunConfig)}
    found = {name for file in (ROOT / "results").glob("*/full/runs.parquet") for name in pq.read_schema(file).names}
    own = {name for name in found if "." not in name and name not in settings and name not in registered}
    assert len(own) > 40
    assert not [name for name in own if not any(pattern.fullmatch(name) for pattern in patterns)]


SMALL = {
    "task": {"p": 7, "distractors": 0, "train_fraction": 0.6},
    "model": {"kind": "embedding-mlp"},
    "epochs": 4,
    "log": {"every": 2},
}


def test_one_column(run):
    assert "structural divergence" in run("list", "columns", "D")[1]
    assert run("list", "columns", "t_grk")[::2] == (2, "t_grk: no such column. Did you mean t_grok?\n")


@pytest.mark.parametrize(
    "column, name",
    [("attention_0", "attention_{j}"), ("entropy_head_1", "entropy_head_{i}"), ("norm_W_Q", "norm_{name}")],
)
def test_one_column_of_several_is_explained_by_the_name_for_all(run, column, name):
    code, out, err = run("list", "columns", column)
    assert (code, err) == (0, "")
    assert out.splitlines()[1].split()[0] == name


def test_terms_of_a_docstring():
    def measure():
        """First line.

        Some text  with two spaces.

        loss      what is minimised,
                  in nats
        norm_{n}  of one matrix
        """

    assert listed_terms(measure) == {"loss": "what is minimised, in nats", "norm_{n}": "of one matrix"}


@pytest.mark.parametrize("words", [["settings"], ["columns"], ["tasks"], []])
def test_on_a_terminal_meanings_are_wrapped(run, monkeypatch, capsys, words):
    from grokscope.cli.front import register

    register(["list"])
    monkeypatch.setattr(listing.shutil, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    monkeypatch.setattr(listing.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(listing, "_bold", lambda text: text)
    listing.list_(*words)
    lines = capsys.readouterr().out.splitlines()
    long = [line for line in lines if len(line) > 80]
    assert len(lines) > 10
    assert all(" " not in line.strip() or line.startswith(("`", "grokscope")) for line in long), long
