"""Precision and grokking times: judged as the rules say."""

import numpy as np
import pandas as pd
import pytest

from grokscope.experiments import find_experiment
from grokscope.store.results import Results

SEEDS = 40


def results_of(spread=0.2, **medians):
    """Times around a median, log-normal, of forty seeds; None never reaches."""
    generator = np.random.default_rng(0)
    rows = [
        {
            "run": f"{arm} {seed}",
            "arm": arm,
            "seed": seed,
            "t_first_99": None if median is None else median * np.exp(generator.normal(0, spread)),
            "epoch": 15_000,
        }
        for arm, median in medians.items()
        for seed in range(SEEDS)
    ]
    return Results({"scale": "full"}, pd.DataFrame(rows), pd.DataFrame(), {})


def ruling(results):
    (claim,) = find_experiment("speed-bf16").claims
    return claim.ruling(results)


def test_arms_differ_in_precision_alone():
    experiment = find_experiment("speed-bf16")
    assert experiment.seeds == SEEDS
    configs = dict(experiment.configs("full", seeds=1))
    assert {name: config.precision for name, config in configs.items()} == {n: n for n in ("float32", "tf32", "bf16")}
    plain = [{**config.to_dict(), "precision": ""} for config in configs.values()]
    assert plain[0] == plain[1] == plain[2]


@pytest.mark.parametrize(
    ("tf32", "bf16", "spread", "verdict", "when"),
    [
        (2000, 2000, 0.2, "agrees", ""),
        (2000, 4000, 0.2, "agrees in part", "agrees: tf32; disagrees: bf16"),
        (1000, None, 0.2, "disagrees", ""),
        (2000, 2000, 1.0, "cannot be told", ""),
    ],
)
def test_verdicts(tf32, bf16, spread, verdict, when):
    found = ruling(results_of(spread, float32=2000, tf32=tf32, bf16=bf16))
    assert (found.verdict, found.when) == (verdict, when)
    assert [case.seeds for case in found.cases] == [SEEDS, SEEDS]
