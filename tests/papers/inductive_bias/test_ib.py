"""The inductive-bias experiments: their rules on tables made up for each verdict, and each of them end to end at toy size."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tables import runs_of

from grokscope.config import Log, Stop
from grokscope.experiments import all_experiments, find_experiment
from grokscope.experiments.collect import probe_tables, run_rows
from grokscope.experiments.drawing import draw
from grokscope.experiments.ledger import rulings
from grokscope.launch.local import train_all
from grokscope.papers.inductive_bias import compressibility, features, placement
from grokscope.papers.inductive_bias.common import PLACEMENTS
from grokscope.papers.inductive_bias.rules import (
    alike_in_each,
    best_alike,
    differ_in_each,
    explains_more,
    later_with,
    lower,
    one_direction,
)
from grokscope.store.results import Results

IB = [name for name in all_experiments() if name.startswith("ib-")]
EARLY, MIDDLE, LATE = [500, 510, 520, 530, 540], [600, 610, 620, 630, 650], [4000, 4100, 4200, 4300, None]
NEVER = [None] * 5


def results_of(runs, curves=None, **probes):
    return Results({}, runs, pd.DataFrame() if curves is None else curves, probes)


def test_there_are_six_and_all_but_one_factor_is_held():
    assert len(IB) == 6
    for name in IB:
        for arm, config in find_experiment(name).configs("full"):
            assert config.task.p == 113 and config.model.d == 64, arm
            assert config.log.keep % config.log.every == 0, "a checkpoint is kept at an evaluation"
    for name in IB:
        quick = [config for _, config in find_experiment(name).configs("quick")]
        assert all(config.log.keep % config.log.every == 0 for config in quick)
        assert sum(config.epochs for config in quick) <= 60_000


def test_full_size_stays_affordable_and_runs_are_shared():
    every = {c.id: c for name in IB for _, c in find_experiment(name).configs("full")}
    assert sum(config.epochs for config in every.values()) <= 6_000_000
    place, dial, prior = (
        {c.id for _, c in find_experiment(f"ib-placement{more}").configs("full")} for more in ("", "-dial", "-prior")
    )
    assert len(place & dial) == 5 * len(PLACEMENTS)
    assert len(place & prior) == 5 * 4


def test_differ():
    judge = differ_in_each({"": ["a", "b", "c"]})
    assert judge(runs_of(a=EARLY, b=MIDDLE, c=LATE)).verdict == "holds"
    assert judge(runs_of(a=EARLY, b=EARLY[::-1], c=EARLY)).verdict == "does not hold"
    assert judge(runs_of(a=NEVER, b=NEVER, c=NEVER)).verdict == "not decided"
    cases = differ_in_each({"x": ["x, a", "x, b"], "y": ["y, a", "y, b"], "z": ["z, a", "z, b"]})
    ruling = cases(runs_of(x__a=EARLY, x__b=LATE, y__a=EARLY, y__b=EARLY))
    assert (ruling.verdict, ruling.when) == ("holds only when", "x")
    assert ruling.numbers["p"].keys() == {"x", "y"}
    assert "x: a: 520 (500–540; 5/5) · b: 4,200" in ruling.measured


def test_alike():
    judge = alike_in_each({"": ("a", "b")})
    assert judge(runs_of(a=EARLY, b=EARLY[::-1])).verdict == "holds"
    assert judge(runs_of(a=EARLY, b=LATE)).verdict == judge(runs_of(a=LATE, b=EARLY)).verdict == "does not hold"
    assert judge(runs_of(a=[500, 3000, 900], b=[2000, 600, 2500])).verdict == "not decided"
    assert judge(runs_of(a=NEVER, b=NEVER)).verdict == "not decided"


def test_best_alike():
    judge = best_alike({"one": ["p, one", "q, one"], "two": ["p, two", "q, two"]})
    same = judge(runs_of(p__one=LATE, q__one=EARLY, p__two=EARLY, q__two=NEVER))
    assert same.verdict == "holds"
    assert same.numbers["best"] == {"one": "q, one", "two": "p, two"}
    assert judge(runs_of(p__one=LATE, q__one=EARLY, p__two=LATE, q__two=NEVER)).verdict == "does not hold"
    assert judge(runs_of(p__one=NEVER, q__one=NEVER, p__two=NEVER, q__two=NEVER)).verdict == "not decided"


def test_one_direction():
    judge = one_direction({"a": {"x": ("x, a", "x, none"), "y": ("y, a", "y, none")}})
    same = judge(runs_of(x__a=EARLY, x__none=LATE, y__a=EARLY, y__none=LATE))
    assert (same.verdict, same.measured) == ("holds", "a: sooner at x, sooner at y")
    turned = judge(runs_of(x__a=EARLY, x__none=LATE, y__a=LATE, y__none=EARLY))
    assert (turned.verdict, turned.measured) == ("does not hold", "a: sooner at x, later at y")
    assert judge(runs_of(x__a=EARLY, x__none=LATE, y__a=LATE, y__none=LATE)).verdict == "not decided"


def test_lower():
    judge = lower("D", "a", "b", "D")
    table = runs_of(a=EARLY, b=EARLY)
    low, high = [0.1, 0.2, 0.15, 0.12, 0.11], [1.0, 1.1, 1.2, 0.9, 1.05]
    assert judge(table.assign(D=low + high)).verdict == "holds"
    assert judge(table.assign(D=high + low)).verdict == "does not hold"
    assert judge(table.assign(D=low + low)).verdict == "not decided"
    assert judge(table.assign(D=np.nan)).verdict == "not decided"


def test_explains_more():
    judge = explains_more(["lr", "wd"], "scale", ("rates", "scale"))
    generator = np.random.default_rng(0)
    rows = [
        {"lr": lr, "wd": wd, "scale": s, "arm": f"{lr} {wd} {s}", "epoch": 10_000, "noise": generator.normal(0, 5)}
        for lr in (1, 2)
        for wd in (1, 2)
        for s in (1, 3, 10)
        for _ in range(5)
    ]
    table = pd.DataFrame(rows)
    by_rates, by_scale = 1000 / (table["lr"] * table["wd"] ** 2), 1000 + 50 * table["scale"]
    assert judge(table.assign(t_grok=by_rates + table["noise"])).verdict == "holds"
    assert judge(table.assign(t_grok=by_scale + table["noise"])).verdict == "does not hold"
    even = judge(table.assign(t_grok=generator.permutation(len(table)).astype(float)))
    assert even.verdict == "not decided"
    assert all(0 <= share < 0.4 for share in even.numbers["shares"])
    whole = judge(table.assign(t_grok=table.groupby(["lr", "wd"]).ngroup() * 100.0))
    assert whole.numbers["shares"] == pytest.approx([1, 0])


def test_later_with():
    table = runs_of(a=EARLY, b=LATE).assign(run=[f"r{i}" for i in range(10)])
    rising, falling = (pd.Series(range(10), table["run"])[::step].set_axis(table["run"]) for step in (1, -1))
    assert later_with(lambda results: rising, "x")(results_of(table)).verdict == "holds"
    assert later_with(lambda results: falling, "x")(results_of(table)).verdict == "does not hold"
    few = later_with(lambda results: rising[:2], "x")(results_of(table))
    assert (few.verdict, few.numbers["rho"]) == ("not decided", None)


def test_reliance_on_distractors_is_read_while_a_run_waits():
    """At 100 it has not memorised, at 200 it waits, at 300 it has generalised."""
    seen = {100: (0.5, 0.1, 0.4), 200: (1.0, 0.2, 0.3), 250: (1.0, 0.2, 0.9), 300: (1.0, 1.0, 1.0)}
    rows = [
        {"run": "r", "epoch": epoch, "side": side, "kept": kept, "accuracy": accuracy}
        for epoch, (train, test, operands) in seen.items()
        for side, kept, accuracy in (
            ("train", "everything", train),
            ("test", "everything", test),
            ("train", "operands", operands),
        )
    ]
    assert placement.distractor_reliance(results_of(pd.DataFrame(), shortcut=pd.DataFrame(rows))).to_dict() == {
        "r": 0.7
    }


def test_entropy_is_read_at_memorisation():
    runs = pd.DataFrame({"run": ["a", "b"], "t_mem": [100, np.nan]})
    curves = pd.DataFrame({"run": ["a", "a", "a", "b"], "epoch": [50, 110, 200, 50], "entropy": [1.6, 1.2, 0.7, 1.0]})
    assert placement.entropy_at_memorisation(results_of(runs, curves)).to_dict() == {"a": 1.2}


def moving(likeness, previous):
    """Five runs of every arm that wait at 400 and 800 and have generalised at 1200."""
    runs = pd.DataFrame(
        [{"run": f"{arm} {seed}", "arm": arm, **s} for arm, s in features.ARMS.items() for seed in range(5)]
    )
    rows = [
        {"run": run, "epoch": e, "test_accuracy": a, "hidden_start": likeness(run), "hidden_previous": p}
        for run in runs["run"]
        for e, a, p in ((0, 0.0, 1.0), (400, 0.1, 0.2), (800, 0.1, previous), (1200, 1.0, 1.0))
    ]
    return results_of(runs, features=pd.DataFrame(rows))


def test_feature_rules():
    verdicts = {claim.name: claim for claim in find_experiment("ib-features").claims}
    rich, lazy = moving(lambda run: 0.4, 0.9), moving(lambda run: 0.95, 0.999)
    assert [verdicts[name].ruling(rich).verdict for name in ("not-lazy", "throughout", "scale")] == [
        "holds", "holds", "not decided"
    ]  # fmt: skip
    assert [verdicts[name].ruling(lazy).verdict for name in ("not-lazy", "throughout")] == ["does not hold"] * 2
    partly = moving(lambda run: 0.95 if run.startswith("α = 10") else 0.5, 0.9)
    found = verdicts["not-lazy"].ruling(partly)
    assert (found.verdict, "α = 10" in found.when, "α = 1 or" in found.when) == ("holds only when", False, True)
    order = {"α = 0.3": 0.2, "α = 1": 0.3, "α = 3": 0.4, "α = 10": 0.5}
    by_scale = moving(lambda run: order.get(run[:-2], 0.1) + 0.01 * int(run[-1]), 0.9)
    assert verdicts["scale"].ruling(by_scale).verdict == "holds"
    turned = moving(lambda run: 1 - order.get(run[:-2], 0.1) + 0.01 * int(run[-1]), 0.9)
    assert verdicts["scale"].ruling(turned).verdict == "does not hold"


def compressed(dimension):
    """Three checkpoints of five runs of every arm, with more and more test accuracy."""
    rows = [
        {"run": f"{arm} {seed}", "arm": arm, "train_accuracy": train, "test_accuracy": test, **dimension(test, seed)}
        for arm in compressibility.ARMS
        for seed in range(5)
        for train, test in ((0.5, 0.01), (1.0, 0.02), (1.0, 0.5), (1.0, 1.0))
    ]
    return results_of(pd.DataFrame(), compressibility=pd.DataFrame(rows))


def test_compressibility_rules():
    claims = {claim.name: claim for claim in find_experiment("ib-compressibility").claims}
    fewer = compressed(lambda test, seed: {"participation_ratio": 50 - 40 * test, "kept_train": 0.5 + 0.4 * test})
    verdicts = {name: claim.ruling(fewer) for name, claim in claims.items()}
    assert [ruling.verdict for ruling in verdicts.values()] == ["holds", "does not hold", "holds"]
    assert verdicts["features"].numbers["points"] == 3 * 5 * len(compressibility.ARMS)
    same = compressed(lambda test, seed: {"participation_ratio": 10 + seed, "kept_train": 0.5})
    assert {claims[name].ruling(same).verdict for name in claims} == {"not decided"}


@pytest.fixture
def toy(tiny):
    def make(name, arms):
        experiment = find_experiment(name)
        base = replace(tiny, epochs=60, log=Log(every=5, keep=20), stop=Stop(accuracy=0.0))
        chosen = {arm: {k: v for k, v in experiment.arms[arm].items() if k != "task.alphabet"} for arm in arms}
        return replace(experiment, base=base, arms=chosen, seeds=2)

    return make


@pytest.mark.parametrize(
    ("name", "arms"),
    [
        ("ib-placement", ["none", "query/key path", "RMS, query/key path"]),
        ("ib-placement-dial", ["q = 16, none", "q = 16, value path"]),
        ("ib-readout-scale", ["lr 0.001, wd 1, α = 1", "lr 0.001, wd 1, α = 10", "lr 0.002, wd 1, α = 1"]),
        ("ib-features", ["α = 1", "α = 10"]),
        ("ib-compressibility", ["nothing", "α = 10", "lr 0.002"]),
        (
            "ib-placement-prior",
            ["none, no prior", "none, oracle", "query/key path, no prior", "query/key path, oracle"],
        ),
    ],
)
def test_end_to_end_at_toy_size(toy, tmp_path, name, arms, monkeypatch):
    """Train, probe, judge and draw."""
    monkeypatch.setattr(compressibility, "MEMORISED", 0.05)
    experiment = toy(name, arms)
    names, configs = zip(*experiment.configs("full"), strict=True)
    stored = train_all(configs, runs=tmp_path / "runs")
    table, curves = run_rows(stored, names)
    about = {"experiment": name, "scale": "full", "device": "cpu"}
    results = Results(about, table, curves, probe_tables(experiment.probes, stored, names))
    rows = rulings(experiment, results)
    assert [row["claim"] for row in rows] == [claim.name for claim in experiment.claims]
    assert all(row["test"] for row in rows)
    json.dumps(rows, allow_nan=False)
    stems = draw([(experiment, results, tmp_path)])
    assert len(stems) == len(experiment.pictures)
    assert all(stem.with_suffix(".png").stat().st_size > 10_000 for stem in stems)
