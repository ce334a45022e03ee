"""Rank correlation against scipy, and an interval that knows what belongs together."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from grokscope.analysis.correlation import rank_correlation

GENERATOR = np.random.default_rng(3)


def test_rho_is_spearmans_with_ties():
    x, y = GENERATOR.integers(0, 5, (2, 40))
    found = rank_correlation(x, y, range(40), draws=20)
    assert found.rho == pytest.approx(spearmanr(x, y).statistic)
    assert (found.points, found.runs) == (40, 40)


def test_a_clear_order_has_a_sign_and_noise_has_none():
    x = np.arange(30.0)
    rising = rank_correlation(x, x + GENERATOR.normal(0, 3, 30), range(30), draws=300)
    falling = rank_correlation(x, -x, range(30), draws=300)
    noise = rank_correlation(x, GENERATOR.normal(size=30), range(30), draws=300)
    assert (rising.sign, falling.sign, noise.sign) == (1, -1, 0)
    assert 0 < rising.low < rising.rho < rising.high <= 1
    assert str(falling) == "ρ = -1.00 (-1.00 to -1.00), 30 points of 30 runs"


def test_points_of_one_run_count_as_one():
    """Four runs of a hundred equal points: as points the order is beyond doubt, as four runs it is not."""
    x, y = np.repeat([1.0, 2, 3, 4], 100), np.repeat([1.0, 3, 2, 4], 100)
    runs = np.repeat(["a", "b", "c", "d"], 100)
    apart, together = (rank_correlation(x, y, owner, draws=400) for owner in (range(400), runs))
    assert apart.rho == together.rho == pytest.approx(0.8)
    assert apart.low > 0.7
    assert together.low < 0


def test_infinity_counts_as_largest():
    found = rank_correlation([1, 2, 3, 4], [1, 2, 3, np.inf], range(4), draws=50)
    assert (found.rho, found.points) == (1.0, 4)


def test_missing_points_and_too_few_runs():
    found = rank_correlation([1, 2, np.nan, 4], [1, 2, 3, np.nan], ["a", "b", "c", "d"])
    assert (found.points, found.runs, found.sign) == (2, 2, 0)
    assert np.isnan(found.rho)
    constant = rank_correlation([1, 1, 1, 1], [1, 2, 3, 4], range(4), draws=50)
    assert np.isnan(constant.rho)
    assert constant.sign == 0
