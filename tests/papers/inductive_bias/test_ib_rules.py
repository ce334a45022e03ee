"""The rules of the inductive-bias experiments alone: positive and negative controls, and tables that do not decide."""

import numpy as np
import pandas as pd
import pytest

from grokscope.experiments.rules import Correlated
from grokscope.papers.inductive_bias.checkpoints import Memorised
from grokscope.papers.inductive_bias.factors import BestAlike, ExplainsMore
from grokscope.papers.inductive_bias.reversal import NoReversal
from grokscope.store.results import Results

SEEDS = 20
LAST = 10_000


def runs_of(arms, spread=0.1, seed=0):
    """Times around a median by arm, log-normal with a common seed effect; None never reaches."""
    generator = np.random.default_rng(seed)
    common = generator.normal(0, spread, SEEDS)
    rows = [
        {
            "run": f"{arm} {s}",
            "arm": arm,
            "seed": s,
            "t_first_99": None if median is None else median * np.exp(common[s] + generator.normal(0, spread)),
            "epoch": LAST,
        }
        for arm, median in arms.items()
        for s in range(SEEDS)
    ]
    return pd.DataFrame(rows)


def results_of(runs, **probes):
    return Results({"scale": "full"}, runs, pd.DataFrame(), probes)


# ── reversals ────────────────────────────────────────────────────────────────────────────────────────────────

TURNS = NoReversal({"a": {q: (f"{q}, a", f"{q}, none") for q in ("x", "y", "z")}})


@pytest.mark.parametrize(
    ("x", "y", "z", "spread", "verdict"),
    [
        (500, 600, 1000, 0.1, "agrees"),  # sooner or alike
        (2000, 1000, 1500, 0.1, "agrees"),  # later or alike
        (500, 2000, 1000, 0.1, "disagrees"),
        (None, 500, 1000, 0.1, "disagrees"),  # never is later
        (900, 1000, 1250, 0.6, "cannot be told"),  # at the border of the slack, with a wide spread
    ],
)
def test_no_reversal(x, y, z, spread, verdict):
    arms = {"x, none": 1000, "y, none": 1000, "z, none": 1000, "x, a": x, "y, a": y, "z, a": z}
    ruling = TURNS(results_of(runs_of(arms, spread)))
    assert ruling.verdict == verdict
    assert [(effect.name, effect.of) for effect in ruling.cases[0].effects] == [("time ratio", q) for q in "xyz"]
    size, power, _ = ruling.cases[0].simulated
    assert size < 0.05 and (power > 0.9) == (spread < 0.3)


def test_a_reversal_by_chance_is_rare():
    """Negative control: without any effect, at most a few of a hundred tables have one, and none is missed where it is large."""
    same = {f"{q}, {arm}": 1000 for q in "xyz" for arm in ("a", "none")}
    found = [TURNS(results_of(runs_of(same, spread=0.3, seed=seed))).verdict for seed in range(60)]
    assert found.count("disagrees") <= 3


def test_cases_that_were_not_run_are_left_out():
    runs = runs_of({"x, none": 1000, "x, a": 500, "y, none": 1000, "y, a": 500})
    assert len(TURNS(results_of(runs)).cases[0].effects) == 2
    assert TURNS(results_of(runs[runs["arm"].str.startswith("x")])).verdict == "not tested"


# ── factors ──────────────────────────────────────────────────────────────────────────────────────────────────

MORE = ExplainsMore(("lr", "wd"), "scale")


def factorial(time):
    generator = np.random.default_rng(0)
    rows = [
        {"run": f"{lr} {wd} {a} {s}", "seed": s, "arm": f"{lr} {wd} {a}", "lr": lr, "wd": wd, "scale": a, "epoch": LAST}
        for lr in (1, 2)
        for wd in (1, 2)
        for a in (1, 3, 10)
        for s in range(SEEDS)
    ]
    table = pd.DataFrame(rows)
    return results_of(table.assign(t_first_99=time(table) + generator.normal(0, 20, len(table))))


def test_explains_more():
    rates = MORE(factorial(lambda t: 4000 / (t["lr"] * t["wd"] ** 2)))
    assert rates.verdict == "agrees"
    assert rates.cases[0].effects[0].low > 0.5
    size, power, _ = rates.cases[0].simulated
    assert size < 0.1 and power > 0.9
    assert MORE(factorial(lambda t: 1000 + 200 * t["scale"])).verdict == "disagrees"
    both = MORE(factorial(lambda t: 1000 + 700 * np.random.default_rng(1).normal(size=len(t)).round(3)))
    assert both.verdict == "cannot be told"
    some = factorial(lambda t: 4000 / (t["lr"] * t["wd"]))
    few = some._replace(runs=some.runs[some.runs["seed"] < 4])
    assert MORE(few).verdict == "cannot be told"


def test_runs_that_never_reach_come_last():
    own = factorial(lambda t: 4000 / (t["lr"] * t["wd"] ** 2))
    slow = own.runs["lr"] * own.runs["wd"] == 1
    never = own._replace(runs=own.runs.assign(t_first_99=own.runs["t_first_99"].mask(slow)))
    assert MORE(never).cases[0].effects[0].value == pytest.approx(MORE(own).cases[0].effects[0].value, abs=0.03)


BEST = BestAlike({"one": ("p, one", "q, one"), "two": ("p, two", "q, two")}, 1.25)


def test_best_alike():
    same = BEST(results_of(runs_of({"p, one": 4000, "q, one": 1000, "p, two": 1010, "q, two": None})))
    assert same.verdict == "agrees"
    assert "q, one" in same.cases[0].measured and "p, two" in same.cases[0].measured
    assert same.cases[0].seeds == SEEDS / 2
    apart = BEST(results_of(runs_of({"p, one": 4000, "q, one": 1000, "p, two": 4000, "q, two": None})))
    assert apart.verdict == "disagrees"
    wide = runs_of({"p, one": 4000, "q, one": 1000, "p, two": 1100, "q, two": 5000}, spread=0.6)
    assert BEST(results_of(wide)).verdict == "cannot be told"


def test_the_best_arm_is_not_chosen_on_the_seeds_that_compare_it():
    """Eight arms that differ by chance alone: chosen and compared on the same seeds they would look apart more often."""
    alike = {f"{arm}, one": 1000 for arm in "abcdefgh"} | {"p, two": 1000}
    rule = BestAlike({"one": tuple(f"{arm}, one" for arm in "abcdefgh"), "two": ("p, two",)}, 1.05)
    found = [rule(results_of(runs_of(alike, spread=0.4, seed=seed))).verdict for seed in range(40)]
    assert found.count("disagrees") <= 4


# ── checkpoints ──────────────────────────────────────────────────────────────────────────────────────────────


def test_checkpoints_that_have_not_memorised_do_not_count():
    rows = [
        {"run": f"r{s}", "arm": "a", "train_accuracy": train, "test_accuracy": test, "rank": rank + 0.01 * s}
        for s in range(SEEDS)
        for train, test, rank in ((0.5, 0.0, 0), (1.0, 0.1, 50), (1.0, 0.5, 30), (1.0, 1.0, 10))
    ]
    results = results_of(pd.DataFrame(), found=pd.DataFrame(rows))
    rule = Correlated("rank", "test_accuracy", -1, table="found")
    assert rule(results).cases[0].effects[0].value > -0.5
    ruling = Memorised(rule, "found")(results)
    assert (ruling.verdict, ruling.cases[0].measured) == ("agrees", f"{3 * SEEDS} points in {SEEDS} clusters")
    assert Memorised(Correlated("rank", "test_accuracy", 1, table="found"), "found")(results).verdict == "disagrees"
    assert Memorised(rule, "other")(results).verdict == "not tested"
