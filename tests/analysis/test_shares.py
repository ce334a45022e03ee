"""Shares and locations: exact intervals, and tests that are their duals."""

import numpy as np
import pytest
from scipy.stats import binom

from grokscope.analysis.location import mean_interval, mean_tails, median_interval, median_tails
from grokscope.analysis.shares import p_share_above, p_share_below, paired_difference, share_interval


def test_clopper_and_pearson():
    low, high = share_interval(20, 20)
    assert (low, high) == (pytest.approx(0.025 ** (1 / 20)), 1.0)
    assert share_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("true", range(0, 13, 3))
def test_the_tests_end_where_the_interval_does(true):
    low, high = share_interval(true, 12)
    if low > 0:
        assert p_share_above(true, 12, low) == pytest.approx(0.025, rel=1e-3)
    if high < 1:
        assert p_share_below(true, 12, high) == pytest.approx(0.025, rel=1e-3)
    assert p_share_above(0, 0, 0.5) == p_share_below(0, 0, 0.5) == 1


def test_the_difference_of_paired_shares_covers_at_least_95_percent():
    assert paired_difference(0, 0, 20) == pytest.approx((-0.197, 0.197), abs=0.001)
    pairs, p, q = 15, 0.4, 0.1
    covered = 0.0
    for first in range(pairs + 1):
        for second in range(pairs + 1 - first):
            low, high = paired_difference(first, second, pairs)
            probability = binom.pmf(first, pairs, p) * binom.pmf(second, pairs - first, q / (1 - p))
            covered += probability * (low <= p - q <= high)
    assert covered >= 0.95


def test_mean_and_median():
    x = np.arange(1.0, 21.0)
    mean, low, high = mean_interval(x)
    assert mean_tails(x, low)[0] == pytest.approx(0.025) and mean_tails(x, high)[1] == pytest.approx(0.025)
    assert mean == 10.5
    assert median_interval(x) == (10.0, 6.0, 15.0)  # the 6th and 15th of 20
    assert median_tails(x, 5.9)[0] < 0.025 < median_tails(x, 6.1)[0]
    late = np.where(x > 8, np.inf, x)
    assert median_interval(late)[0] == np.inf and median_tails(late, 7.5)[0] > 0.025
    assert median_interval(x[:5])[1:] == (-np.inf, np.inf)
    assert mean_tails(np.array([3.0, 3.0]), 2) == (0.0, 1.0)
    assert mean_tails(np.array([3.0]), 2) == (1.0, 1.0)  # one value decides nothing
    assert mean_interval(np.array([0.1 + 0.2, 0.3, 0.3])) == pytest.approx((0.3, 0.3, 0.3))


def test_the_interval_of_equal_values_has_no_width():
    """As accuracies of 1 in every run."""
    assert mean_interval(np.ones(20)) == (1.0, 1.0, 1.0)
    assert mean_tails(np.ones(20), 0.9) == (0.0, 1.0) and mean_tails(np.ones(20), 1.01) == (1.0, 0.0)
