"""Precision and grokking times: judged as the rules say."""

import pytest
from tables import runs_of

from grokscope.experiments import find_experiment
from grokscope.experiments.ledger import rulings
from grokscope.papers.instrument.bf16 import same_median
from grokscope.store.results import Results

TIMES = [2000 + 10 * i for i in range(21)]
NEVER = [None] * 21


def test_arms_differ_in_precision_alone():
    configs = dict(reversed(find_experiment("speed-bf16").configs("full")))
    assert {name: config.precision for name, config in configs.items()} == {n: n for n in ("float32", "tf32", "bf16")}
    plain = [{**config.to_dict(), "precision": ""} for config in configs.values()]
    assert plain[0] == plain[1] == plain[2]


def test_the_same_times_are_the_same():
    runs = runs_of(float32=TIMES, tf32=TIMES, bf16=TIMES)
    rows = rulings(find_experiment("speed-bf16"), Results({"scale": "full"}, runs, runs))
    assert [row["verdict"] for row in rows] == ["holds", "holds"]
    assert same_median(runs).numbers["bf16"]["ratio"] == 1


def test_a_precision_that_delays_is_found():
    slower = [2 * t for t in TIMES]
    runs = runs_of(float32=TIMES, tf32=TIMES, bf16=slower)
    rows = rulings(find_experiment("speed-bf16"), Results({"scale": "full"}, runs, runs))
    assert [row["verdict"] for row in rows] == ["holds only when tf32"] * 2
    assert same_median(runs).numbers["bf16"]["ratio"] == pytest.approx(2)
    assert same_median(runs_of(float32=TIMES, tf32=slower, bf16=slower)).verdict == "does not hold"


def test_medians_are_not_decided_where_the_interval_is_wide_or_empty():
    wide = [500, 4000] * 10 + [2100]
    found = same_median(runs_of(float32=TIMES, tf32=wide, bf16=wide))
    assert found.verdict == "not decided"
    low, high = found.numbers["tf32"]["interval"]
    assert low < 0.8 < 1.25 < high
    never = same_median(runs_of(float32=TIMES, tf32=NEVER, bf16=NEVER))
    assert never.verdict == "does not hold"
    assert never.numbers["tf32"]["ratio"] is None
