"""Precision and grokking times: judged as the rule says."""

from tables import lognormal, results_of

from grokscope.experiments import find_experiment
from grokscope.experiments.ledger import rulings

TIMES = lognormal(2000, 40, spread=0.2)


def verdicts(**arms):
    (row,) = rulings(find_experiment("speed-bf16"), results_of(**arms))
    return row["verdict"], {case["name"]: case["verdict"] for case in row["cases"]}


def test_arms_differ_in_precision_alone():
    configs = dict(reversed(find_experiment("speed-bf16").configs("full")))
    assert {name: config.precision for name, config in configs.items()} == {n: n for n in ("float32", "tf32", "bf16")}
    plain = [{**config.to_dict(), "precision": ""} for config in configs.values()]
    assert plain[0] == plain[1] == plain[2]


def test_like_times_are_the_same():
    like = lognormal(2000, 40, spread=0.2, seed=1)
    assert verdicts(float32=TIMES, tf32=like, bf16=like)[0] == "agrees"


def test_a_precision_that_delays_is_found():
    slower, like = lognormal(4000, 40, spread=0.2, seed=2), lognormal(2000, 40, spread=0.2, seed=1)
    found = verdicts(float32=TIMES, tf32=like, bf16=slower)
    assert found == ("agrees in part", {"tf32": "agrees", "bf16": "disagrees"})


def test_it_cannot_be_told_where_the_interval_is_wide():
    wide = lognormal(2300, 40, spread=1.5, seed=3)
    assert verdicts(float32=TIMES, tf32=wide, bf16=wide)[0] == "cannot be told"
