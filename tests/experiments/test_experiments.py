"""Experiments: well formed, run end to end at toy size, and judged as their rules say."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from grokscope.config import Log
from grokscope.experiments import all_experiments, find_experiment
from grokscope.experiments.base import crossed
from grokscope.experiments.collect import curves_from, lead, run_rows, thin
from grokscope.experiments.ledger import as_markdown, draw, ledger, rulings
from grokscope.experiments.rules import broken_line, groks, in_most_runs, never_groks, sooner
from grokscope.store.results import Results, load_results, save_results
from grokscope.training import train_all


def runs_of(**arms):
    """A table of runs from lists of grokking times; None never grokked by epoch 10000."""
    rows = [
        {
            "arm": arm,
            "t_grok": t,
            "epoch": 10000 if t is None else t + 100,
            "best_test_accuracy": 0.1 if t is None else 1.0,
        }
        for arm, times in arms.items()
        for t in times
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("name", list(all_experiments()))
@pytest.mark.parametrize("scale", ["quick", "full"])
def test_every_experiment_is_well_formed(name, scale):
    experiment = find_experiment(name)
    configs = experiment.configs(scale)
    assert len({config.id for _, config in configs}) == len(configs)
    assert {arm for arm, _ in configs} == set(experiment.arms)
    assert len(configs) == len(experiment.arms) * (experiment.seeds if scale == "full" else experiment.quick_seeds)
    assert scale == "quick" or (experiment.seeds >= 5 and all(config.epochs >= 10_000 for _, config in configs))
    assert all(
        (claim.statement.endswith(".") and "olds" in claim.rule) or "log-rank" in claim.rule
        for claim in experiment.claims
    )
    assert len({claim.name for claim in experiment.claims}) == len(experiment.claims)


def test_sooner():
    judge = sooner("a", "b")
    assert judge(runs_of(a=[100, 120, 90, 110, 130], b=[900, 1000, 1100, 800, None])).verdict == "holds"
    assert judge(runs_of(b=[100, 120, 90, 110, 130], a=[900, 1000, 1100, 800, None])).verdict == "does not hold"
    assert judge(runs_of(a=[100, 1000, 300, 500], b=[200, 900, 350, 480])).verdict == "not decided"


def test_shares():
    table = runs_of(a=[100, 200, None], b=[None, None, None])
    assert never_groks(["b"])(table).verdict == "holds"
    assert never_groks(["a"])(table).verdict == "does not hold"
    partly = never_groks(["a", "b"])(table)
    assert (partly.verdict, partly.when) == ("holds only when", "b")
    assert groks(["a"], 0.6)(table).verdict == "holds"
    assert groks(["a"], 0.8)(table).verdict == "does not hold"


def test_in_most_runs_leaves_out_what_does_not_apply():
    table = pd.DataFrame({"arm": ["a"] * 5, "x": [1.0, 1.0, 1.0, np.nan, np.nan]})
    judge = in_most_runs(["a"], lambda runs: (runs["x"] > 0).where(runs["x"].notna()), lambda runs: "")
    assert judge(table).verdict == "holds"
    assert judge(table).numbers == {"a": {"true": 3, "n": 3}}
    assert judge(table.assign(x=np.nan)).verdict == "not decided"
    assert judge(table.assign(x=-1.0)).verdict == "does not hold"


def test_broken_line_finds_slope_and_floor():
    generator = np.random.default_rng(1)
    betas = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0]
    rows = [
        {"arm": f"{b}", "prior.beta": b, "t_grok": max(1500, 800 + 30 / b) + generator.normal(0, 60)}
        for b in betas
        for _ in range(5)
    ]
    judge = broken_line([str(b) for b in betas], lambda runs: 1 / runs["prior.beta"], "1/β", draws=200)
    ruling = judge(pd.DataFrame(rows))
    assert ruling.verdict == "holds"
    assert ruling.numbers["slope"] == pytest.approx(30, rel=0.1)
    assert ruling.numbers["floor"] == pytest.approx(1500, rel=0.1)
    flat = pd.DataFrame(rows).assign(t_grok=1500 + generator.normal(0, 60, len(rows)))
    assert judge(flat).verdict == "does not hold"
    few = pd.DataFrame(rows).assign(t_grok=np.where(pd.DataFrame(rows)["prior.beta"] < 0.3, np.nan, 1500.0))
    assert judge(few).verdict == "not decided"


def test_lead_is_positive_when_divergence_falls_first():
    epochs = np.arange(0, 1000, 100)
    accuracy = np.where(epochs >= 800, 1.0, 0.0)
    early = pd.DataFrame({"epoch": epochs, "D": np.where(epochs >= 300, 0.001, 1.0), "test_accuracy": accuracy})
    assert lead(early) == 500
    assert lead(early.assign(test_accuracy=0.2)) is None


def test_thinning_keeps_the_ends_and_the_shape():
    metrics = pd.DataFrame({"epoch": np.arange(0, 10_000, 25), "train_loss": 1.0, "norm_W_E": 2.0})
    thinned = thin(metrics)
    assert len(thinned) <= 92
    assert (thinned["epoch"].iloc[0], thinned["epoch"].iloc[-1]) == (0, 9975)
    assert "norm_W_E" not in thinned


def test_crossed_names_every_combination():
    arms = crossed({"a": {"x": 1}, "b": {"x": 2}}, {"c": {"y": 3}})
    assert arms == {"a, c": {"x": 1, "y": 3}, "b, c": {"x": 2, "y": 3}}


def test_end_to_end_at_toy_size(tiny, tmp_path):
    """Train, collect, store, judge and draw; the ledger rebuilt from disk equals the first."""
    experiment = replace(find_experiment("si-fig1"), base=replace(tiny, epochs=60, log=Log(every=5)), seeds=2)
    arms, configs = zip(*experiment.configs("full"), strict=True)
    stored = train_all(configs, runs=tmp_path / "runs")
    table, curves = run_rows(stored, arms)
    kept = Results({"experiment": "si-fig1", "scale": "full"}, table, curves)
    folder = save_results(tmp_path / "results", kept)
    again = load_results(tmp_path / "results", "si-fig1", "full")
    first, second = rulings(experiment, kept), rulings(experiment, again)
    assert json.loads(json.dumps(first)) == json.loads(json.dumps(second))
    assert [row["claim"] for row in first] == ["starvation", "precedence", "resurgence", "bump"]
    assert [run.seed for run in curves_from(again)] == [0, 1] * 3
    stems = draw(experiment, again, folder)
    assert all(stem.with_suffix(suffix).stat().st_size > 1000 for stem in stems for suffix in (".svg", ".png"))
    assert len(ledger(tmp_path / "results")) == 4
    assert as_markdown(first).count("\n| `si-fig1`") == 4
    assert load_results(tmp_path / "results", "si-fig2", "full") is None
