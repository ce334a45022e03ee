"""An arm that diverges does not stop an experiment: its runs are named and count as not grokked."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from grokscope.experiments import base
from grokscope.experiments.base import Claim, Experiment
from grokscope.experiments.clocks import Clock, times
from grokscope.experiments.diverged import named_runs
from grokscope.experiments.drawing import add_note, drawn_pictures
from grokscope.experiments.rules import Custom, ShareAtMost, Sooner
from grokscope.figures import accuracy_and_divergence, grokking_times
from grokscope.store.results import load_results

RESULTS = Path(__file__).parents[2] / "results"
WILD = {"optim.kind": "sgd", "optim.lr": 1e12}


def needs_numbers(runs):
    raise ValueError("cannot convert NaN to integer")


@pytest.fixture
def toy(tiny, monkeypatch):
    """One arm trains, one diverges, one would start from the diverged one."""
    claims = [
        Claim(name=name, statement="A statement.", rule=rule, text="In words.")
        for name, rule in {
            "never": ShareAtMost("wild", 0.9),
            "sooner": Sooner("wild", "plain"),
            "ticket": ShareAtMost("ticket", 0.1),
            "numbers": Custom("numbers", needs_numbers),
        }.items()
    ]
    ticket = {"ticket.kind": "magnitude", "ticket.run": "@wild"}
    made = Experiment(
        name="toy-wild",
        paper="toys",
        title="Toy",
        question="Does it run?",
        base=replace(tiny, epochs=20),
        arms={"plain": {}, "wild": WILD, "ticket": ticket},
        quick_seeds=2,
        claims=claims,
        probes=["masks", "features", "compressibility"],
        pictures={"times": grokking_times, "accuracy": accuracy_and_divergence},
    )
    monkeypatch.setitem(base._experiments, "toy-wild", made)


def test_the_others_are_judged_and_the_diverged_ones_are_named(toy, run, tmp_path):
    code, out, err = run("reproduce", "toy-wild", "--quiet", "--device", "cpu", "--json")
    assert code == 0, err
    rows = {row["claim"]: row for row in json.loads(out, parse_constant=pytest.fail)}
    named = (
        "diverged, counted as not grokked: wild (seeds 0, 1); not trained, since what they start from diverged: ticket"
    )
    assert all(named in row["measured"] for row in rows.values())
    assert "wild: share = 0 %" in rows["never"]["measured"]
    assert rows["ticket"]["verdict"] == "not tested"
    assert rows["numbers"]["verdict"] == "cannot be told"
    assert rows["numbers"]["measured"].startswith("the rule cannot be applied (ValueError); ")
    assert "not trained: 2 runs of ticket, since those that they start from diverged\n" in err
    assert "probe features omits run " in err and "its weights are not finite" in err

    folder = tmp_path / "results" / "toy-wild" / "quick"
    runs = pd.read_parquet(folder / "runs.parquet")
    assert runs["status"].tolist().count("diverged") == 2
    assert set(pd.read_parquet(folder / "probe-features.parquet")["arm"]) == {"plain"}
    for name in ("times", "accuracy"):
        assert "diverged, counted as not grokked: wild" in (folder / f"toy-wild-{name}.svg").read_text()

    code, out, err = run("claims", "--scale", "quick")
    assert code == 0, err
    assert "toy-wild/never (quick)" in out and named in out


def test_a_diverged_run_stays_at_risk_to_its_last_planned_epoch():
    """It never groks: censored where it diverged, it would not count against its arm."""
    runs = pd.DataFrame(
        {
            "arm": "a",
            "seed": [0, 1, 2],
            "status": ["grokked", "diverged", "done"],
            "epochs": 400,
            "epoch": [300, 5, 400],
            "t_grok": [200.0, np.nan, np.nan],
        }
    )
    own = times(runs, "a", Clock("t_grok"))
    assert own.time.tolist() == [200, 400, 400]
    assert named_runs(runs) == "a (seed 1)"
    assert named_runs(runs.assign(status="diverged")) == "a (all 3 seeds)"
    assert times(runs.assign(epoch=[300, 0, 400]), "a", Clock("t_grok")).time.tolist() == [200, 400, 400]


def test_a_picture_names_the_diverged_runs_that_it_shows():
    """Of one part of the arms, and without arms that it does not show."""
    notes = {}
    experiment = base.all_experiments()["causes-noise"]
    results = load_results(RESULTS, "causes-noise", "full")
    runs = results.runs[results.runs["seed"] < 2]
    few = results._replace(runs=runs, curves=results.curves[results.curves["run"].isin(runs["run"])])
    for drawn in drawn_pictures(experiment, few):
        notes[drawn.name, drawn.part] = [
            " ".join(t.get_text().split()) for t in drawn.figure.texts if t.get_gid() == "diverged"
        ]
    assert notes["after", ""] == [], "branches of AdamW"
    said = "diverged, counted as not grokked: SGD 0.1 (seed 0), SGD 0.3 (seeds 0, 1), SGD 1 (seeds 0, 1)"
    assert notes["times", "q = 1"] == [said]
    assert notes["times", "q = 16"] == [said.replace("(seed 0)", "(seeds 0, 1)")]


@pytest.mark.parametrize("width", [4, 7])
def test_a_long_note_ends_where_the_figure_does(width):
    figure = Figure(figsize=(width, 3))
    add_note(figure, "diverged: " + ", ".join(f"SGD {rate} (all 20 seeds)" for rate in range(30)))
    (note,) = figure.texts
    assert note.get_window_extent().x1 <= figure.bbox.x1 and figure.get_size_inches()[1] > 3


def test_diverged_seeds_in_a_row_are_a_range():
    runs = pd.DataFrame({"arm": "a", "seed": range(9), "status": "diverged"})
    runs.loc[[1, 7], "status"] = "done"
    assert named_runs(runs) == "a (seeds 0, 2–6, 8)"
