"""Golden verdicts: every kind of rule on fixed tables. The hash of a rule holds its fields, not the code of its kind; this does.

A verdict of the ledger must not move because a test, a level or a default was changed after the runs. If such a change is meant,
all results are to be judged anew: write the numbers down in the same commit, and say why in its message.

PYTHONPATH=src python tests/golden/test_rules.py
"""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from grokscope.experiments import rules, settle
from grokscope.experiments.base import Case
from grokscope.experiments.clocks import FIRST_99, TAU_95, WAIT_99
from grokscope.experiments.rules import (
    Alike,
    BestShareAtLeast,
    Conditional,
    Correlated,
    Custom,
    Differ,
    Fastest,
    Greater,
    InEach,
    InRegimes,
    Less,
    NoLater,
    NotTested,
    PowerLaw,
    Reached,
    ShareAtLeast,
    ShareAtMost,
    Sooner,
    WithinRange,
)
from grokscope.store.results import Results

FILE = Path(__file__).with_name("rules.json")
SEEDS = 20
HORIZON = 20_000
MEDIANS = {"fast": 1000, "slow": 1700, "nearly": 1580, "same": 1680, "late": 15_000}
LEVELS = (0.01, 0.03, 0.1, 0.3, 1.0)


def table():
    """Twenty seeds of a few arms, and of five levels of β with times 500 + 100/β; the numbers are spelt out by a formula, so that
    they depend on no generator of random numbers."""
    medians = MEDIANS | {f"β = {beta:g}": 500 + 100 / beta for beta in LEVELS}
    rows = []
    for at, (arm, median) in enumerate(medians.items()):
        for seed in range(SEEDS):
            common, own = math.sin(7 * seed + 1), math.sin(13 * seed + 5 * at)
            time = round(median * math.exp(0.2 * common + 0.1 * own))
            reached = time if time <= HORIZON else None
            rows.append(
                {
                    "run": f"{at}-{seed}",
                    "arm": arm,
                    "seed": seed,
                    "t_first_99": reached,
                    "t_first_95": None if reached is None else 0.9 * reached,
                    "t_mem_first_99": 200 + seed,
                    "t_mem_first_95": 150 + seed,
                    "epoch": HORIZON,
                    "epochs": HORIZON,
                    "status": "done",
                    "beta": LEVELS[at - len(MEDIANS)] if at >= len(MEDIANS) else None,
                    "norm": 20 + at + own,
                    "holds": float(own > -0.9),
                    "never": None,
                }
            )
    runs = pd.DataFrame(rows)
    again = runs[runs["arm"].isin(["fast", "slow"])]
    regime = again.assign(arm="q = 16, " + again["arm"], run="q-" + again["run"])
    return Results({"scale": "full"}, pd.concat([runs, regime], ignore_index=True), pd.DataFrame({"run": []}))


def own_judge(results):
    return Case(p_for=0.004, seeds=len(results.runs))


BETAS = tuple(f"β = {beta:g}" for beta in LEVELS)
RULES = {
    "sooner": Sooner("fast", "slow"),
    "sooner, but within the margin": Sooner("nearly", "slow"),
    "no sooner": Sooner("same", "slow"),
    "later": Sooner("late", "fast"),
    "a shorter wait": Sooner("fast", "slow", WAIT_99),
    "a smaller ratio": Sooner("fast", "slow", TAU_95),
    "no later": NoLater("nearly", "slow"),
    "later than the slack": NoLater("slow", "fast"),
    "nearly no later": NoLater("slow", "nearly", 1.1),
    "alike": Alike(("slow", "nearly")),
    "nearly alike": Alike(("slow", "nearly", "same"), 1.1),
    "not alike": Alike(("slow", "fast")),
    "differ": Differ(("fast", "slow", "late")),
    "differ a little": Differ(("slow", "nearly")),
    "do not differ": Differ(("slow", "same")),
    "fastest": Fastest("A", {"A": ("fast", "late"), "B": ("slow",)}),
    "not fastest": Fastest("B", {"A": ("fast",), "B": ("slow",)}),
    "greater": Greater("norm", "slow", "fast"),
    "not shown to be greater": Greater("norm", "slow", "fast", margin=0.9),
    "greater by less than the margin": Greater("norm", "slow", "fast", margin=2.0),
    "less": Less("norm", "slow", "fast"),
    "correlated": Correlated("beta", FIRST_99, -1, arms=BETAS, cluster="seed"),
    "correlated the other way": Correlated("beta", FIRST_99, 1, arms=BETAS),
    "not shown to be correlated": Correlated("norm", FIRST_99, arms=("slow", "same")),
    "at the end of a range": WithinRange("norm", "fast", 19.8, 21.0),
    "within a range": WithinRange("norm", "fast", 19.0, 21.0),
    "outside a range": WithinRange("norm", "late", 19.0, 21.0),
    "a time within a range": WithinRange(FIRST_99, "fast", 700, 1500),
    "power law": PowerLaw("beta", BETAS),
    "another power law": PowerLaw("beta", BETAS, exponent=0.5),
    "a share at least": ShareAtLeast("fast", 0.7),
    "a share that is too small": ShareAtLeast("late", 0.99, column="holds"),
    "a share at most": ShareAtMost("fast", 0.5, column="holds"),
    "the best of several shares": BestShareAtLeast(("fast", "late"), 0.7),
    "the best of several shares that are too small": BestShareAtLeast(("late", "slow"), 0.99, column="holds"),
    "a share of none": ShareAtLeast("fast", 0.7, column="never"),
    "in each": InEach(
        {"one": Sooner("fast", "slow"), "two": Sooner("nearly", "slow"), "three": ShareAtLeast("fast", 0.8)}
    ),
    "in regimes": InRegimes(Sooner("fast", "slow")),
    "given that it reached": Conditional(Sooner("fast", "late"), Reached("late")),
    "judged by itself": Custom("own", own_judge),
    "not tested": NotTested("no reason"),
}


def found(rule):
    """What a rule says: verdicts, p of both sides before and after the correction, effects, simulated size and power."""
    ruling = rule(table())
    cases = [
        {
            "name": case.name,
            "verdict": case.verdict,
            "p": [_number(x) for x in (case.p_for, case.p_against, case.least, case.p)],
            "effects": {
                " ".join(filter(None, (e.of, e.name))): [_number(x) for x in (e.value, e.low, e.high)]
                for e in case.effects
            },
            "simulated": [_number(x) for x in case.simulated[:2]] if case.simulated else None,
            "seeds": case.seeds,
        }
        for case in ruling.cases
    ]
    return {"verdict": ruling.verdict, "p": _number(ruling.p), "cases": cases}


def _number(value):
    return None if value is None or not np.isfinite(value) else float(f"{value:.4g}")


def kinds():
    return {name: own for name, own in vars(rules).items() if isinstance(own, type) and issubclass(own, rules.Rule)}


def defaults():
    """Of every field of every kind of rule that has one, and the levels."""
    fields = {
        f"{name}.{field.name}": str(field.default)
        for name, own in kinds().items()
        if dataclasses.is_dataclass(own)
        for field in dataclasses.fields(own)
        if field.default is not dataclasses.MISSING
    }
    return fields | {"ALPHA": settle.ALPHA, "FEWEST": settle.FEWEST}


def written():
    return json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RULES)
def test_a_rule_says_what_it_said(name):
    now, then = found(RULES[name]), written()["rules"][name]
    assert [case["verdict"] for case in now["cases"]] == [case["verdict"] for case in then["cases"]]
    assert _flat(now) == pytest.approx(_flat(then), rel=1e-3, abs=1e-9)
    assert now["verdict"] == then["verdict"]


def _flat(value, path=""):
    """All numbers by where they are."""
    if isinstance(value, dict):
        return {k: v for name, one in value.items() for k, v in _flat(one, f"{path}/{name}").items()}
    if isinstance(value, list):
        return {k: v for at, one in enumerate(value) for k, v in _flat(one, f"{path}/{at}").items()}
    if value is None:
        return {f"{path} is none": 1.0}
    return {path: float(value)} if isinstance(value, (int, float)) else {}


def test_defaults_and_levels_are_what_they_were():
    assert defaults() == written()["defaults"]


def test_every_kind_of_rule_is_here():
    used = {type(rule) for rule in RULES.values()}
    assert {own for own in kinds().values() if own is not rules.Rule} == used


def test_a_change_of_a_rule_is_seen(monkeypatch):
    """The level and the code of a kind of rule, neither of which is in a hash."""
    then = found(RULES["given that it reached"])
    monkeypatch.setattr(settle, "ALPHA", 1e-9)
    assert found(RULES["given that it reached"]) != then
    monkeypatch.undo()
    monkeypatch.setattr("grokscope.experiments.rules.times.p_sooner", lambda *_: 0.5)
    assert found(RULES["sooner"]) != written()["rules"]["sooner"]


if __name__ == "__main__":
    made = {"defaults": defaults(), "rules": {name: found(rule) for name, rule in RULES.items()}}
    FILE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
