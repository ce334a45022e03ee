"""Experiments: well formed, run end to end at toy size, and judged as their rules say."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tables import runs_of

from grokscope.config import Log
from grokscope.errors import ConfigError
from grokscope.experiments import all_experiments, find_experiment
from grokscope.experiments.base import crossed, in_stages, matching_experiments
from grokscope.experiments.collect import crossings, curves_from, priced, run_rows, thin, training_totals
from grokscope.experiments.ledger import as_markdown, draw, drawn_pictures, fits, load_ledger, rulings
from grokscope.experiments.regimes import REGIMES, by_regime, in_regime
from grokscope.launch.local import train_all
from grokscope.store.results import Results, load_results, save_results


def test_experiments_follow_the_papers_and_their_figures():
    names = list(all_experiments())
    wanted = ["si-fig2", "si-fig10", "si-dial", "gt-fig2a", "gt-fig2b", "gt-fig13", "gt-table1", "ib-placement"]
    assert [name for name in names if name in wanted] == wanted


@pytest.mark.parametrize("name", list(all_experiments()))
@pytest.mark.parametrize("scale", ["quick", "full"])
def test_every_experiment_is_well_formed(name, scale):
    experiment = find_experiment(name)
    configs = experiment.configs(scale)
    arms = experiment.arms_at(scale)
    assert len({config.id for _, config in configs}) == len(configs)
    assert set(arms) <= set(experiment.arms)
    assert {arm for arm, _ in configs} == set(arms)
    assert len(configs) == len(arms) * (experiment.seeds if scale == "full" else experiment.quick_seeds)
    if scale == "full" and name.startswith("si-"):
        assert experiment.seeds >= 5 and all(config.epochs >= 10_000 for _, config in configs)
    assert all(
        (claim.statement.endswith(".") and "olds" in claim.rule) or "log-rank" in claim.rule
        for claim in experiment.claims
    )
    assert len({claim.name for claim in experiment.claims}) == len(experiment.claims)
    assert all(any(arm.startswith(f"{part}, ") for arm in experiment.arms) for part in experiment.parts)


def test_quick_is_small_enough_for_two_cores():
    """These are the optimizer steps if no run ended early; about half of them are taken."""
    configs = {c.id: c for e in all_experiments().values() if e.name.startswith("si-") for _, c in e.configs("quick")}
    assert sum(config.epochs * config.steps_per_epoch for config in configs.values()) <= 370_000


def test_experiments_share_their_runs():
    names = ("si-fig1", "si-fig5", "si-critics-bump", "si-critics-precedence", "si-dial")
    ids = {name: {config.id for _, config in find_experiment(name).configs("full")} for name in names}
    assert ids["si-critics-bump"] == ids["si-critics-precedence"] < ids["si-dial"]
    assert ids["si-fig1"] < ids["si-dial"]
    assert ids["si-fig5"] < ids["si-dial"]


def test_a_run_is_shared_only_by_experiments_that_watch_and_stop_it_alike():
    """Otherwise what one finds would depend on which other was run before it in the same folder."""
    wishes = {}
    for experiment in all_experiments().values():
        for scale in ("quick", "full"):
            for _, config in experiment.configs(scale):
                assert wishes.setdefault(config.id, config) == config


def test_a_claim_whose_arms_were_not_run_is_not_decided():
    experiment = find_experiment("si-fig8")
    runs = runs_of(random_places__oracle=[100] * 5, random_places__no_prior=[None] * 5).assign(test_accuracy=0.5)
    rows = rulings(experiment, Results({"scale": "quick"}, runs, pd.DataFrame()))
    assert [row["verdict"] for row in rows] == ["holds", "not decided", "not decided"]
    assert rows[1]["measured"] == "not run at quick size"


def test_experiments_are_found_by_pattern():
    names = [experiment.name for experiment in matching_experiments(["si-critics-b*", "si-fig3", "si-fig3"])]
    assert names == ["si-critics-bump", "si-fig3"]
    with pytest.raises(ConfigError, match="si-fig3"):
        matching_experiments(["si-fgi3"])


def test_regimes_are_crossed_with_arms_and_references():
    arms = by_regime({"dense": {"prior.beta": 0.0}, "taught": {"prior.teacher": "@dense", "ticket.run": "@dense"}})
    assert list(arms) == [f"{regime}, {arm}" for regime in REGIMES for arm in ("dense", "taught")]
    assert arms["q = 16, taught"] == {
        "task.alphabet": 16,
        "prior.teacher": "@q = 16, dense",
        "ticket.run": "@q = 16, dense",
    }
    table = pd.DataFrame({"arm": ["q = 16, dense", "operand vocabulary, dense"], "x": [1, 2]})
    assert in_regime(table, "q = 16").to_dict("list") == {"arm": ["dense"], "x": [1]}


def test_tickets_are_trained_after_the_runs_they_come_from():
    experiment = find_experiment("si-critics-tickets")
    asked = experiment.configs("full", 2)
    first, second = in_stages([config for _, config in asked])
    arm_of = {config.id: arm for arm, config in asked}
    assert {arm_of[config.id].split(", ")[-1] for config in first} == {"dense", "oracle"}
    dense = {(arm_of[c.id].split(", ")[0], c.seed): c.id for c in first if c.prior.beta == 0}
    for config in second:
        regime = arm_of[config.id].split(", ")[0]
        named = {getattr(config.ticket, "run", ""), config.prior.teacher} - {""}
        assert named == {dense[regime, config.seed]}


def test_crossings_tell_which_came_first():
    epochs = np.arange(0, 1000, 100)
    accuracy = np.where(epochs >= 800, 1.0, 0.0)
    early = pd.DataFrame({"epoch": epochs, "D": np.where(epochs >= 300, 0.001, 1.0), "test_accuracy": accuracy})
    assert crossings(early) == {"t_condensed": 300, "t_half": 800, "lead": 500}
    assert crossings(early.assign(D=np.where(epochs >= 900, 0.001, 1.0)))["lead"] == -100
    assert set(crossings(early.assign(test_accuracy=0.2)).values()) == {None}


def test_thinning_keeps_the_ends_and_the_shape():
    metrics = pd.DataFrame({"epoch": np.arange(0, 10_000, 25), "train_loss": 1.0, "norm_W_E": 2.0})
    thinned = thin(metrics)
    assert len(thinned) <= 92
    assert (thinned["epoch"].iloc[0], thinned["epoch"].iloc[-1]) == (0, 9975)
    assert "norm_W_E" not in thinned
    closer = thin(metrics, t_grok=8000)["epoch"]
    assert closer[(closer >= 4000) & (closer <= 8000)].diff().max() <= 175


def test_thinned_numbers_are_good_to_half_a_thousandth():
    values = np.concatenate([np.geomspace(1e-30, 1e30, 500), [0.0, np.inf, np.nan, -1 / 3]])
    thinned = thin(pd.DataFrame({"epoch": np.arange(len(values)), "D": values}).iloc[-60:])["D"].to_numpy()
    np.testing.assert_allclose(thinned, values[-60:], rtol=2**-11)
    assert thinned.dtype == np.float32
    assert not (thinned[np.isfinite(thinned)].view(np.uint32) & 0x1FFF).any()


def test_a_shared_run_is_paid_once():
    table = pd.DataFrame({"run": ["a", "b", "a"], "steps": [100, 20, 100], "step_seconds": [1.0, 0.5, 1.0]})
    assert training_totals(table) == {"runs": 2, "run_steps": 120, "seconds": 1.5}


def test_priced_runs_have_seconds_of_their_own():
    table = priced(runs_of(a=[100, None], b=[50]), {"a": 0.5, "b": 2.0})
    assert list(table["seconds_alone"].fillna(-1)) == [50, -1, 100]
    assert list(table["seconds_alone_end"]) == [100, 5000, 300]


def test_crossed_names_every_combination():
    arms = crossed({"a": {"x": 1}, "b": {"x": 2}}, {"c": {"y": 3}})
    assert arms == {"a, c": {"x": 1, "y": 3}, "b, c": {"x": 2, "y": 3}}


def toy(name, tiny, **settings):
    """An experiment as it is, on a run of a second."""
    return replace(find_experiment(name), base=replace(tiny, epochs=60, log=Log(every=5)), seeds=2, **settings)


def collected(experiment, folder):
    arms, configs = zip(*experiment.configs("full"), strict=True)
    stored = {run.id: run for stage in in_stages(configs) for run in train_all(stage, runs=folder / "runs")}
    table, curves = run_rows([stored[config.id] for config in configs], arms)
    return Results({"experiment": experiment.name, "scale": "full", "device": "cpu"}, table, curves)


def test_end_to_end_at_toy_size(tiny, tmp_path, monkeypatch):
    """Train, collect, store, judge and draw; the ledger rebuilt from disk equals the first."""
    experiment = toy("si-fig1", tiny)
    kept = collected(experiment, tmp_path)
    folder = save_results(tmp_path / "results", kept)
    again = load_results(tmp_path / "results", "si-fig1", "full")
    first, second = rulings(experiment, kept), rulings(experiment, again)
    assert json.loads(json.dumps(first)) == json.loads(json.dumps(second))
    assert [row["claim"] for row in first] == ["starvation", "resurgence"]
    assert all(row["test"] for row in first)
    assert [run.seed for run in curves_from(again)] == [0, 1] * 3
    stems = draw([(experiment, again, folder)])
    assert all(stem.with_suffix(suffix).stat().st_size > 1000 for stem in stems for suffix in (".svg", ".png"))
    ledger = load_ledger(tmp_path / "results", "full")
    assert len(ledger.rows()) == 2
    page = as_markdown(ledger, first)
    assert page.count("\n| `si-fig1`") == 2
    steps = int(kept.runs["epoch"].sum())
    assert f"1 experiments at full size: 6 runs, {steps:,} optimizer steps in " in page
    assert load_results(tmp_path / "results", "si-fig2", "full") is None
    # results of other arms are left out, and named
    save_results(tmp_path / "results", kept._replace(runs=kept.runs.assign(arm="q = 3")))
    stale = load_ledger(tmp_path / "results", "full")
    assert (stale.found, stale.stale) == ([], ["si-fig1"])


def test_tickets_end_to_end_count_what_they_cost(tiny, tmp_path):
    experiment = toy("si-critics-tickets", tiny)
    experiment = replace(experiment, arms={arm: s for arm, s in experiment.arms.items() if arm.startswith("q = 16")})
    kept = collected(experiment, tmp_path)
    runs = kept.runs.set_index(["arm", "seed"])
    for (arm, seed), row in runs.iterrows():
        dense = runs.loc[("q = 16, dense", seed), "epoch"]
        paid = 0 if arm in ("q = 16, dense", "q = 16, oracle") else dense
        assert row["t_total_end"] == row["epoch"] + paid
    assert fits(experiment, kept)
    assert [row["claim"] for row in rulings(experiment, kept)] == [claim.name for claim in experiment.claims]
    assert [drawn.file for drawn in drawn_pictures(experiment, kept)] == ["accuracy-q-16", "times-q-16"]
