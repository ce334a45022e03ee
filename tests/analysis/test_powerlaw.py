"""The exponent of t = floor + c·x^−s: found, bounded, and refuted where it should be."""

import numpy as np
import pytest

from grokscope.analysis.powerlaw import fit_power_law

X = np.array([0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 1.0])


def times(law, seed=0, seeds=20, spread=0.2):
    generator = np.random.default_rng(seed)
    return law(X) * np.exp(generator.normal(0, 0.2, (seeds, 1)) + generator.normal(0, spread, (seeds, len(X))))


def test_the_law_is_found():
    fit = fit_power_law(X, times(lambda x: 800 + 12 / x))
    assert fit.low < 1 < fit.high and fit.high - fit.low < 0.3
    assert (fit.floor, fit.slope) == (pytest.approx(800, rel=0.15), pytest.approx(12, rel=0.15))
    assert max(fit.p_below, fit.p_above) < 0.025 < fit.lack_of_fit
    assert max(fit.best, key=fit.best.get) == "1/x"


def test_another_exponent_is_told_apart():
    fit = fit_power_law(X, times(lambda x: 800 + 120 * x**-0.5))
    assert fit.high < 0.75 and fit.p_outside < 0.025 and fit.lack_of_fit < 0.05
    assert max(fit.best, key=fit.best.get) == "1/√x"


def test_growth_is_a_negative_exponent():
    fit = fit_power_law(X, times(lambda x: 100 + 5000 * x), exponent=-1.0)
    assert fit.exponent == pytest.approx(1, abs=0.1) and fit.slope == pytest.approx(5000, rel=0.2)
    assert max(fit.best, key=fit.best.get) == "x"


def test_a_step_is_no_power_law():
    fit = fit_power_law(X, times(lambda x: np.where(x < 0.02, 4000.0, 1000.0)))
    assert fit.lack_of_fit < 0.01 and fit.misfit > 0.1


def test_a_floor_below_0_is_told_but_not_fitted():
    fit = fit_power_law(np.array([0.3, 0.5, 1.0, 2.0, 3.0]), below := times_below())
    assert fit.floor == 0 and fit.low > 1, "without it the exponent takes its place"
    assert fit.open_floor == pytest.approx(-600, rel=0.2) and fit.open_slope == pytest.approx(2800, rel=0.1)
    assert fit.open_misfit < 0.1 < fit.misfit and fit.lack_of_fit > 0.05
    said = fit.describe("wd", 1.0)
    assert said.startswith("t = 0 + ") and "; with a floor below 0, -" in said
    assert said.index("relative deviation") < said.index("with a floor") < said.index("lack of fit p = ")
    above = fit_power_law(np.array([0.3, 0.5, 1.0, 2.0, 3.0]), below + 2000)
    assert above.floor == above.open_floor > 0 and above.misfit == above.open_misfit
    assert "below 0" not in above.describe("wd", 1.0)


def times_below():
    x = np.array([0.3, 0.5, 1.0, 2.0, 3.0])
    return (2800 / x - 600) * np.exp(np.random.default_rng(3).normal(0, 0.15, (20, len(x))))


def test_the_lack_of_fit_has_its_size():
    found = [fit_power_law(X, times(lambda x: 800 + 12 / x, seed), draws=400).lack_of_fit for seed in range(200)]
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.04)
