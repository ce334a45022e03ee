"""Rules of the structural-inference claims that are not in `experiments.rules`: each with tables on which it must agree, disagree
and not tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grokscope.papers.structural_inference.fig5 import under_bound
from grokscope.papers.structural_inference.leads import POINTS, Leads, best_lag
from grokscope.store.results import Results

EPOCHS = np.arange(0, 1001, 5)


def fall(at, width=25.0):
    """A curve that falls from 1 to 0 around an epoch."""
    return 1 / (1 + np.exp((EPOCHS - at) / width))


def curves(pairs):
    """Runs that memorise at 100 and grok at 900; (D, test loss) of each."""
    ids = [f"r{i}" for i in range(len(pairs))]
    runs = pd.DataFrame({"run": ids, "arm": "a", "seed": range(len(ids)), "t_mem": 100.0, "t_grok": 900.0})
    tables = [
        pd.DataFrame({"epoch": EPOCHS, "run": run, "D": d, "test_loss": loss})
        for run, (d, loss) in zip(ids, pairs, strict=True)
    ]
    return Results({}, runs, pd.concat(tables))


def seeds(lag, count=20, spread=10.0, scale="nats"):
    generator = np.random.default_rng(1)
    made = []
    for _ in range(count):
        at, noise = generator.uniform(350, 550), generator.normal(0, spread)
        d = 0.01 + fall(at) if scale == "nats" else np.exp(4 * fall(at) - 4)
        made.append((d, 10 * fall(at + lag + noise)))
    return curves(made)


@pytest.mark.parametrize("shift", [-60, 0, 40])
def test_a_lag_is_the_shift_of_one_curve_against_the_other(shift):
    points = np.arange(POINTS)
    one, two = (1 / (1 + np.exp((points - at) / 8)) for at in (120, 120 + shift))
    assert best_lag(one, two) == pytest.approx(shift / (POINTS - 1), abs=0.005)


def test_a_curve_that_does_not_change_has_no_lag():
    assert np.isnan(best_lag(np.ones(POINTS), np.linspace(1, 0, POINTS) ** 2))


@pytest.mark.parametrize(("lag", "verdict"), [(60, "agrees"), (-60, "disagrees"), (0, "cannot be told")])
@pytest.mark.parametrize("scale", ["nats", "log"])
def test_leads_tells_who_comes_first(lag, verdict, scale):
    assert Leads("a", scale)(seeds(lag, scale=scale)).verdict == verdict


def test_curves_that_are_not_locked_in_time_cannot_be_told():
    generator = np.random.default_rng(2)
    pairs = [(fall(generator.uniform(120, 880)), fall(generator.uniform(120, 880))) for _ in range(24)]
    ruling = Leads("a")(curves(pairs))
    assert ruling.verdict == "cannot be told"
    assert "not locked in time" in ruling.measured


def test_few_runs_cannot_be_told_and_none_are_not_tested():
    assert Leads("a")(seeds(60, count=4)).verdict == "cannot be told"
    assert Leads("b")(seeds(60)).verdict == "not tested"


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [([0.1, 0.5, 0.98], "agrees"), ([0.1, 0.5, 1.2], "disagrees"), ([0.1, 0.5, 1.005], "cannot be told")],
)
def test_one_run_above_the_bound_refutes_it_and_rounding_does_not(ratios, verdict):
    runs = pd.DataFrame({"run": ["a", "b", "c"], "arm": "x", "seed": range(3), "bound_ratio": ratios})
    case = under_bound(Results({}, runs, pd.DataFrame()))
    assert (case.verdict, case.seeds) == (verdict, 3)


def test_no_run_with_a_bound_cannot_be_told():
    runs = pd.DataFrame({"run": ["a"], "arm": "x", "seed": [0], "bound_ratio": [None]})
    assert under_bound(Results({}, runs, pd.DataFrame())).verdict == "cannot be told"
