"""Tests against a reference arm, and for a trend: by hand, and against SciPy's log-rank test."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import logrank

from grokscope.analysis import Sample, compare_with, log_rank_trend, sample, trend_over
from grokscope.errors import ConfigError


def test_by_hand():
    """Three arms of one run each, grokking at 1, 2, 3 with scores 2, 1, 0. At time 1 the mean score of those at risk is 1 and its
    variance 2/3; at time 2 (scores 1 and 0) 1/2 and 1/4; at time 3 nothing is left to compare."""
    arms = [sample([1], [9]), sample([2], [9]), sample([3], [9])]
    found = log_rank_trend((arms, [2, 1, 0]))
    assert found.z == pytest.approx(((2 - 1) + (1 - 1 / 2)) / np.sqrt(2 / 3 + 1 / 4))
    assert log_rank_trend((arms, [0, 1, 2])).z == pytest.approx(-found.z)


times = st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=2, max_size=12)


def of(runs):
    return Sample(np.array([t for t, _ in runs], dtype=float), np.array([g for _, g in runs]))


@given(times, times)
def test_two_arms_give_the_log_rank_test(one, two):
    ours = log_rank_trend(([of(one), of(two)], [0, 1]))
    with np.errstate(all="ignore"):  # 0/0 where nothing can be compared
        theirs = logrank(of(one).censored(), of(two).censored()) if any(g for _, g in one + two) else None
    if theirs is None or not np.isfinite(theirs.statistic):
        assert ours == (0.0, 1.0)
    else:
        assert ours.z**2 == pytest.approx(theirs.statistic**2, abs=1e-6)
        assert ours.p == pytest.approx(theirs.pvalue, abs=1e-6)


@given(times, times, times)
def test_scores_count_up_to_scale_and_shift(one, two, three):
    arms = [of(one), of(two), of(three)]
    assert log_rank_trend((arms, [0, 1, 2])).z == pytest.approx(log_rank_trend((arms, [5, 8, 11])).z, abs=1e-6)


def test_nothing_grokked_is_no_trend():
    arms = [sample([None, None], [9, 9]), sample([None], [9])]
    assert log_rank_trend((arms, [0, 1])) == (0.0, 1.0)
    assert log_rank_trend() == (0.0, 1.0)


def table(rows):
    return pd.DataFrame(rows, columns=["arm", "beta", "decay", "t_grok"]).assign(epoch=1000)


def test_strata_remove_what_another_setting_does():
    """Within each decay a larger β is sooner, but β is larger where the decay is slow: pooled, the trend is reversed."""
    rows = [("", beta, 0.1, 900 - 10 * beta - seed) for beta in (4, 5, 6) for seed in range(5)]
    rows += [("", beta, 1.0, 300 - 10 * beta - seed) for beta in (1, 2, 3) for seed in range(5)]
    runs = table(rows)
    assert trend_over(runs, "beta").z < -2
    assert trend_over(runs, "beta", ["decay"]).z > 2


def test_every_arm_is_compared_with_the_reference():
    rows = [("none", 0, 1, 500 + s) for s in range(6)] + [("soon", 1, 1, 100 + s) for s in range(6)]
    rows += [("never", 2, 1, None)] * 6
    found = compare_with(table(rows), "arm", "none").set_index("arm")
    assert list(found.index) == ["soon", "never"]
    assert found["z"]["soon"] > 0 > found["z"]["never"]
    assert (found["p_holm"] >= found["p"]).all() and (found["p_holm"] < 0.05).all()
    with pytest.raises(ConfigError, match=r"no arm is called 'nune'. Did you mean none\?"):
        compare_with(table(rows), "arm", "nune")
