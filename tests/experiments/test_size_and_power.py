"""Size and power of a rule, simulated at the seeds that it had."""

import numpy as np
import pytest
from controls import CONTROLS, with_column
from tables import lognormal, results_of

from grokscope.analysis.location import median_tails
from grokscope.experiments import power
from grokscope.experiments.clocks import FIRST_99
from grokscope.experiments.rules import (
    Fastest,
    PowerLaw,
    Sooner,
    WithinRange,
)


@pytest.mark.parametrize(
    "name",
    ["sooner", "no later", "alike", "differ", "most", "hardly any", "greater", "correlated", "within the range", "law"],
)
def test_size_and_power_stand_beside_the_verdict(name):
    rule, results, _ = CONTROLS[name]
    simulated = rule(results).cases[0].simulated
    assert simulated.size <= 0.12 and simulated.power >= simulated.size  # 100 tables: 0.025 is within 0 … 0.08
    assert f"power {100 * simulated.power:.0f} % at " in rule(results).measured


def test_more_seeds_have_more_power():
    powers = [
        Sooner("a", "b")(results_of(a=lognormal(1000, n, 0.9, seed=1), b=lognormal(1500, n, 0.9, seed=2)))
        .cases[0]
        .simulated.power
        for n in (6, 20)
    ]
    assert powers[0] < powers[1]


@pytest.mark.parametrize("floor", [0.0, 20.0])
def test_the_power_of_a_law_is_that_of_its_own_floor(floor):
    """Where all of the time follows the law, its exponent is found; under a floor twenty times as high it cannot be."""
    x = np.array([0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
    generator = np.random.default_rng(5)
    arms = {f"w{i}": 1000 * (floor + 1 / w) * np.exp(generator.normal(0, 0.1, 20)) for i, w in enumerate(x)}
    made = results_of(horizon=10**9, **arms)
    made = made._replace(runs=made.runs.assign(wd=np.repeat(x, 20)))
    (case,) = PowerLaw("wd", tuple(arms))(made).cases
    assert case.simulated.power > 0.9 if floor == 0 else case.simulated.power < 0.2
    assert case.simulated.size < 0.12


def test_a_law_that_misses_the_means_counts_in_the_simulation():
    """Noise of 50 % leaves the means off the law by chance; a rule that forgives no deviation agrees less often."""
    levels = (0.3, 0.5, 1.0, 2.0, 3.0)
    strict, lenient = (power.of_law(20, levels, 0.5, 1.0, 0.6, 0.0, misfit).power for misfit in (0.0, np.inf))
    assert strict < lenient


def test_the_power_of_the_fastest_is_that_of_all_comparisons_at_once():
    arms = {name: lognormal(1500, 8, 0.5, seed) for seed, name in enumerate(("b", "c", "d", "e"))}
    made = results_of(a=lognormal(1000, 8, 0.5, seed=9), **arms)
    alone = Fastest("A", {"A": ("a",), "b": ("b",)})(made).cases[0].simulated
    every = Fastest("A", {"A": ("a",), **{name: (name,) for name in arms}})(made).cases[0].simulated
    assert every.power < alone.power - 0.05
    assert every.size < 0.05 and "each of the others" in every.at


def test_a_case_whose_spread_leaves_it_no_power_says_so():
    wide = with_column(0.0, noise=5.0)
    assert (
        "20 runs like these could hardly agree, even where the claim is true"
        in WithinRange("norm", "a", -1, 1)(wide).measured
    )
    assert "could hardly" not in WithinRange("norm", "a", -1, 1)(with_column(0.0, noise=0.1)).measured


@pytest.mark.parametrize("seeds", [8, 20])
def test_the_power_of_a_median_is_that_of_the_sign_test(seeds):
    """Not of a test of the mean, whose power depends on how far the latest runs are: against tables of times."""
    rule = WithinRange(FIRST_99, "a", 0.0, 1000.0)
    (case,) = rule(results_of(a=[*lognormal(500, seeds - 1, seed=1), None])).cases
    assert case.simulated.at == "a quarter of the runs beyond one end of the range"
    generator = np.random.default_rng(3)
    for share, expected in ((0.5, case.simulated.size), (0.75, case.simulated.power)):
        tables = np.where(generator.random((4000, seeds)) < share, 900.0, 1e6)
        p = [median_tails(times, 1000.0)[1] for times in tables]
        assert np.mean(np.array(p) < 0.025) == pytest.approx(expected, abs=0.03)


def test_the_power_of_a_wide_range_is_taken_near_its_end():
    made = with_column(0.0)
    assert (
        WithinRange("norm", "a", -50, 50)(made).cases[0].simulated.at
        == "a mean one standard deviation inside the range"
    )
    assert WithinRange("norm", "a", -0.5, 0.5)(made).cases[0].simulated.at == "a mean in the middle of the range"
