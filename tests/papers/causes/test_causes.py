"""Experiments about causes: every arm can be trained, branches refer to the run of their own seed, and columns are right."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from grokscope.config import Log
from grokscope.config.references import in_stages
from grokscope.experiments.base import all_experiments, find_experiment
from grokscope.experiments.collect import run_rows
from grokscope.experiments.columns import values
from grokscope.experiments.ledger import rulings
from grokscope.experiments.probing import probe_tables
from grokscope.figures import figures
from grokscope.launch.local import train_all
from grokscope.papers.causes.common import DIAL
from grokscope.papers.causes.noise import RATES
from grokscope.store.results import Results

CAUSES = [name for name in all_experiments() if name.startswith("causes-")]


@pytest.mark.parametrize("name", CAUSES)
def test_branches_come_after_their_parents_and_share_their_seed(name):
    experiment = find_experiment(name)
    for scale in ("full", "quick"):
        asked = experiment.configs(scale, 2)
        by_id = {config.id: (arm, config) for arm, config in asked}
        stages = in_stages([config for _, config in asked])
        assert len(stages) == (2 if any(config.branch.run for _, config in asked) else 1)
        for arm, config in asked:
            if not config.branch.run:
                continue
            parent_arm, parent = by_id[config.branch.run]
            assert parent.seed == config.seed
            assert parent_arm.split(", ")[0] == arm.split(", ")[0]
            assert (parent.task, parent.model) == (config.task, config.model)
            if isinstance(config.branch.epoch, int):
                assert parent.log.keep == config.branch.epoch < config.epochs
    assert experiment.seeds >= 20


def small(name, tiny, arms):
    experiment = find_experiment(name)
    chosen = {}
    for arm in arms:
        own = dict(experiment.arms[f"q = 16, {arm}"])
        own |= {key: 20 for key in ("log.keep", "branch.epoch", "do.epoch") if isinstance(own.get(key), int)}
        chosen[f"q = 16, {arm}"] = own | ({"task.alphabet": 3} if "task.alphabet" in own else {})
    base = replace(tiny, epochs=40, prior=replace(tiny.prior, beta=0.0), log=Log(every=5))
    return replace(experiment, base=base, arms=chosen, seeds=2, seeds_of={})


def collected(experiment, folder):
    arms, configs = zip(*experiment.configs("full"), strict=True)
    stored = {run.id: run for stage in in_stages(configs) for run in train_all(stage, runs=folder, device="cpu")}
    own = [stored[config.id] for config in configs]
    table, curves = run_rows(own, arms, collected=experiment.collected)
    about = {"experiment": experiment.name, "scale": "full"}
    return Results(about, table, curves, probe_tables(experiment.probes, own, arms))


def test_structure_and_norm_end_to_end(tiny, tmp_path):
    arms = ("parent", "as it was", "structure", "norm", "both", "attention as it is")
    results = collected(small("causes-structure-norm", tiny, arms), tmp_path)
    runs = results.runs.set_index(["arm", "seed"])
    parent, same = (runs.loc[f"q = 16, {arm}"] for arm in ("parent", "as it was"))
    assert (parent["mlp_norm_mem"].isna() == same["mlp_norm_mem"].isna()).all()
    assert (parent["D_end"] == same["D_end"]).all()
    assert (same["epochs_after"] == 20).all() and parent["epochs_after"].isna().all()
    assert (runs.loc["q = 16, structure"]["D_end"] < 1e-6).all()
    curves = results.curves.set_index(["run", "epoch"])
    for arm in ("norm", "both"):
        for run in runs.loc[f"q = 16, {arm}"]["run"]:
            assert curves.loc[(run, 40), "mlp_norm"] == pytest.approx(28.5, rel=1e-3)
    assert [row["claim"] for row in rulings(small("causes-structure-norm", tiny, arms), results)] == [
        "structure",
        "norm",
        "both",
        "attention-must-move",
        "uniform",
    ]


def test_transplants_go_both_ways(tiny, tmp_path):
    arms = ("parent", "grokked", "as it was", "given MLP", "deprived of attention")
    experiment = small("causes-transplants", tiny, arms)
    experiment = replace(
        experiment, arms=experiment.arms | {"q = 16, grokked": {"prior.beta": 0.3, "epochs": 30, "task.alphabet": 3}}
    )
    results = collected(experiment, tmp_path)
    runs = results.runs.set_index("arm")
    assert set(runs.loc["q = 16, deprived of attention", "epochs_after"]) == {10.0}
    assert set(runs.loc["q = 16, given MLP", "epochs_after"]) == {20.0}


def test_starvation_is_measured_relative_to_the_mlp(tiny, tmp_path):
    experiment = small("causes-starvation", tiny, ("parent", "watched", "as it was", "attention × 10"))
    watched = experiment.arms["q = 16, watched"] | {"epochs": 40, "log.keep": 10}
    experiment = replace(experiment, arms=experiment.arms | {"q = 16, watched": watched})
    results = collected(experiment, tmp_path)
    probed = results.probes["part-gradients"]
    assert {"attention", "mlp", "embed", "readout"} <= set(probed)
    ends = (
        probed[probed["arm"] == "q = 16, watched"]
        .sort_values("epoch")
        .groupby("run")[["attention", "mlp"]]
        .agg(["first", "last"])
    )
    ratio = (ends["attention", "last"] / ends["attention", "first"]) / (ends["mlp", "last"] / ends["mlp", "first"])
    column = values(results, "attention starves relative to the MLP")
    chosen = results.runs["arm"] == "q = 16, watched"
    for run, starved in zip(results.runs["run"][chosen], column[chosen], strict=True):
        assert starved == float(ratio[run] <= 0.5)
    (axes,) = figures.get("causes-gradients")(results).axes
    first = probed[(probed["arm"] == "q = 16, watched") & (probed["seed"] == 0)].sort_values("epoch")
    for part in ("attention", "mlp"):
        (line,) = [line for line in axes.lines if line.get_label() == part]
        assert line.get_xdata().tolist() == first["epoch"].tolist()
        assert line.get_ydata() == pytest.approx(first[part].to_numpy())


def test_no_plateau_is_twice_the_time_to_memorise():
    find_experiment("causes-noise")
    runs = pd.DataFrame(
        {
            "run": list("abcd"),
            "t_first_99": [150.0, 250.0, np.nan, np.nan],
            "t_mem_first_99": [100.0, 100.0, 100.0, np.nan],
        }
    )
    found = values(Results({}, runs, pd.DataFrame()), "no plateau")
    assert list(found[:3]) == [1.0, 0.0, 0.0] and np.isnan(found[3])


def sgd_table(at):
    """Runs of SGD in each regime; `at` says by rate and seed how many times t_mem the run takes, None if it never generalises."""
    rows = [
        {"run": f"{q} {rate} {seed}", "arm": f"{q}, SGD {rate:g}", "seed": seed, "t_mem_first_99": 100.0}
        | {"t_first_99": np.nan if at(rate, seed) is None else 100.0 * at(rate, seed)}
        for q in DIAL
        for rate in RATES
        for seed in range(20)
    ]
    return Results({}, pd.DataFrame(rows), pd.DataFrame())


@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        (lambda rate, seed: 1.5 if rate == 0.3 else None, "agrees"),
        (lambda rate, seed: 9.0 if rate == 0.3 else None, "disagrees"),
        (lambda rate, seed: 1.5 if rate == 0.3 and seed % 3 else None, "cannot be told"),
    ],
)
def test_one_rate_of_tuned_sgd_decides(at, wanted):
    (claim,) = (claim for claim in find_experiment("causes-noise").claims if claim.name == "sgd")
    ruling = claim.rule(sgd_table(at))
    assert [case.verdict for case in ruling.cases] == [wanted] * 4, ruling.measured


def test_a_rate_is_judged_on_seeds_that_did_not_choose_it():
    """A rate that is good on the choosing half alone is no evidence."""
    (claim,) = (claim for claim in find_experiment("causes-noise").claims if claim.name == "sgd")
    ruling = claim.rule(sgd_table(lambda rate, seed: 1.5 if rate == 0.3 and seed % 2 == 0 else None))
    assert ruling.verdict == "disagrees"
    assert all("SGD 0.3" in case.measured and case.seeds == 10 for case in ruling.cases)


@pytest.mark.parametrize("arm", ["10% of the labels", "distractors, every step", "distractors, once"])
def test_resampled_branches_train(tiny, tmp_path, arm):
    results = collected(small("causes-resampled", tiny, ("parent", "as it was", arm)), tmp_path)
    ends = results.runs.set_index("arm")["D_end"]
    assert set(ends[f"q = 16, {arm}"]) != set(ends["q = 16, as it was"])


def test_collapse_is_measured_from_the_largest_gradient():
    epochs = [100, 200, 300] * 3
    probe = pd.DataFrame(
        {
            "run": [run for run in "abc" for _ in range(3)],
            "epoch": epochs,
            "attention": [1, 10, 1.0, 1, 10, 2.0, 1, np.nan, np.nan],
            "mlp": [1, 10, 10.0, 1, 10, 3.0, 1, 1, np.nan],
        }
    )
    results = Results({}, pd.DataFrame({"run": list("abc")}), pd.DataFrame(), {"part-gradients": probe})
    assert values(results, "attention collapses").tolist()[:2] == [1.0, 0.0]
    assert values(results, "attention collapses relative to the MLP").tolist()[:2] == [1.0, 0.0]
