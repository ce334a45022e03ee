"""Kaplan–Meier, log-rank and Holm against textbook numbers, their formulas written out, and their own laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from grokscope.analysis import Sample, holm, kaplan_meier, log_rank, sample
from grokscope.analysis.survival import _log_rank_of_many, counts_of

# Weeks of remission under 6-mercaptopurine and placebo (Freireich et al. 1963), the usual textbook example.
TREATED = Sample(
    np.array([6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], dtype=float),
    np.array([True] * 9 + [False] * 12),
)
PLACEBO = Sample(
    np.array([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], dtype=float),
    np.array([True] * 21),
)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    runs = draw(st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=1, max_size=15))
    return Sample(np.array([t for t, _ in runs], dtype=float), np.array([g for _, g in runs]))


def test_a_missing_time_is_censored_at_the_last_epoch() -> None:
    runs = sample([100, None, float("nan")], [500, 600, 700])
    assert runs.time.tolist() == [100, 600, 700]
    assert runs.grokked.tolist() == [True, False, False]
    assert sample([None, 5], 9).time.tolist() == [9, 5]
    with pytest.raises(ValueError, match="last epoch"):
        sample([None], [float("nan")])


def test_survival_by_hand() -> None:
    # 5 runs; 1 of 5 groks at 10, 1 is cut off at 20, 1 of 3 groks at 30, the rest are cut off at 40.
    km = kaplan_meier(sample([10, None, 30, None, None], [99, 20, 99, 40, 40]))
    assert km.time.tolist() == [10, 20, 30, 40]
    assert km.survival == pytest.approx([4 / 5, 4 / 5, 8 / 15, 8 / 15])
    # Greenwood at 30: 1/(5·4) + 1/(3·2) = 13/60; S^exp(±1.96 √(13/60) / log S).
    width = np.exp(1.959964 * np.sqrt(13 / 60) / -np.log(8 / 15))
    assert km.lower[2] == pytest.approx((8 / 15) ** width, rel=1e-6)
    assert km.upper[2] == pytest.approx((8 / 15) ** (1 / width), rel=1e-6)
    assert km.median.value is None


def test_survival_of_the_textbook_example() -> None:
    km = kaplan_meier(TREATED)
    at = dict(zip(km.time.tolist(), km.survival.tolist(), strict=True))
    published = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448, 35: 0.448}
    assert {t: round(at[t], 3) for t in published} == published
    assert km.median == (23, 13, None)
    assert kaplan_meier(PLACEBO).median == (8, 4, 11)


def test_median_needs_no_luck_with_rounding() -> None:
    # Shares 5/6, 4/6, 3/6: the product of the factors must be recognised as one half.
    assert kaplan_meier(sample([1, 2, 3, 4, 5, 6], 9)).median.value == 3


def test_nobody_grokked() -> None:
    km = kaplan_meier(sample([None, None], [50, 60]))
    assert km.survival.tolist() == km.lower.tolist() == km.upper.tolist() == [1, 1]
    assert km.median == (None, None, None)


def test_everybody_grokked_at_once() -> None:
    km = kaplan_meier(sample([50, 50], 60))
    assert (km.survival.tolist(), km.lower.tolist(), km.upper.tolist()) == ([0], [0], [1])
    assert km.median == (50, 50, None)


def test_where_the_share_is_zero_the_upper_limit_is_carried_on() -> None:
    km = kaplan_meier(sample([10, 20, 30], 60))
    assert km.survival[-1] == km.lower[-1] == 0
    assert km.upper[-1] == km.upper[-2] > 0.5
    assert km.median == (20, 10, None)  # three runs cannot bound the median from above


def test_no_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="no runs"):
        kaplan_meier(sample([], []))


@given(samples())
def test_survival_and_interval_are_their_formulas(runs: Sample) -> None:
    km = kaplan_meier(runs)
    assert km.time.tolist() == sorted(set(runs.time))
    share, variance = 1.0, 0.0
    for time, survival, lower, upper in zip(km.time, km.survival, km.lower, km.upper, strict=True):
        n, d = np.sum(runs.time >= time), np.sum(runs.grokked & (runs.time == time))
        share *= 1 - d / n
        assert survival == pytest.approx(share)
        if 0 < share < 1:
            variance += d / (n * (n - d))
            width = np.exp(stats.norm.ppf(0.975) * np.sqrt(variance) / -np.log(share))
            assert (lower, upper) == pytest.approx((share**width, share ** (1 / width)))


@given(samples())
def test_the_interval_holds_the_estimate(runs: Sample) -> None:
    km = kaplan_meier(runs)
    assert np.all((km.lower >= 0) & (km.lower <= km.survival) & (km.survival <= km.upper) & (km.upper <= 1))
    assert np.all(np.diff(km.survival) <= 0)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=20))
def test_without_censoring_it_is_the_empirical_share(times: list[int]) -> None:
    km = kaplan_meier(sample(times, 99))
    assert km.survival == pytest.approx([np.mean(np.array(times) > t) for t in km.time])
    assert km.median.value == sorted(times)[(len(times) - 1) // 2]


def test_log_rank_by_hand() -> None:
    # Arm a groks at 1 and 3, b at 2 and never (last epoch 9). At risk (a, b): t=1 (2, 2), t=2 (1, 2), t=3 (1, 1).
    test = log_rank(sample([1, 3], 9), sample([2, None], 9))
    expected, variance = 2 / 4 + 1 / 3 + 1 / 2, 1 / 4 + 2 / 9 + 1 / 4
    assert test.chi2 == pytest.approx((2 - expected) ** 2 / variance)
    assert test.freedom == 1


def test_log_rank_of_the_textbook_example() -> None:
    test = log_rank(TREATED, PLACEBO)
    assert test.chi2 == pytest.approx(16.79, abs=0.005)
    assert test.p == pytest.approx(stats.chi2.sf(16.79, 1), rel=0.01)


def test_log_rank_where_nothing_can_be_compared() -> None:
    assert log_rank(sample([None], 9), sample([None], 9))[:3] == (0, 0, 1)  # nobody grokked
    assert log_rank(sample([5, 5], 9), sample([5], 9))[:3] == (0, 0, 1)  # all at the same time
    assert log_rank(sample([None], 2), sample([5, 6], 9))[:3] == (0, 0, 1)  # one arm ended before the other began
    with pytest.raises(ValueError, match="two or more"):
        log_rank(TREATED)


def test_an_arm_that_ended_before_any_event_takes_no_degree_of_freedom() -> None:
    with_it, without = log_rank(TREATED, sample([None], 0.5), PLACEBO), log_rank(TREATED, PLACEBO)
    assert with_it.freedom == 1
    assert with_it.p == pytest.approx(without.p)


@given(samples(), samples())
def test_ours_for_many_arms_is_scipys_for_two(a: Sample, b: Sample) -> None:
    test = log_rank(a, b)
    if test.freedom:
        assert test == pytest.approx(_log_rank_of_many(*counts_of([a, b])), abs=1e-9)
    else:
        assert test == (0, 0, 1)


def test_log_rank_of_three_arms_by_hand() -> None:
    # One run each: grokked at 1, at 2, and not by 9. At risk (1, 1, 1) and (0, 1, 1). Of the first two arms
    # Z = (2/3, 1/6) and V = [[2/9, −1/9], [−1/9, 17/36]], so that Zᵀ V⁻¹ Z = 78/30.
    test = log_rank(sample([1], 9), sample([2], 9), sample([None], 9))
    assert test.chi2 == pytest.approx(2.6)
    assert (test.freedom, test.p) == (2, pytest.approx(np.exp(-1.3)))


@given(samples(), samples(), samples(), st.permutations([0, 1, 2]))
def test_log_rank_does_not_depend_on_the_order_of_arms(a: Sample, b: Sample, c: Sample, order: list[int]) -> None:
    arms = [a, b, c]
    one, other = log_rank(*arms), log_rank(*(arms[i] for i in order))
    assert one.chi2 == pytest.approx(other.chi2, abs=1e-9)
    assert one.freedom == other.freedom


@given(samples())
def test_equal_arms_do_not_differ(a: Sample) -> None:
    assert log_rank(a, a, a).p == pytest.approx(1)


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1 = 0.04, 0.06, 0.06, 0.04; never smaller than the one before.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]).tolist() == [1, 1]
    assert holm([]).tolist() == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, float("nan")])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_monotone_and_lies_between_raw_and_bonferroni(p: list[float]) -> None:
    raw, adjusted = np.array(p), holm(p)
    assert np.all(np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0)
    assert np.all((adjusted >= raw) & (adjusted <= np.minimum(len(p) * raw, 1) + 1e-12))
    assert adjusted[raw.argmin()] == pytest.approx(min(len(p) * raw.min(), 1))


def test_runs_without_an_end_come_last():
    """A ratio of times has no last epoch: a run that never reached is later than all others, at an unknown place."""
    own = sample([3.0, 1.0, None, 2.0, None], np.inf)
    found = kaplan_meier(own)
    assert found.median.value == 3.0
    assert kaplan_meier(sample([None, None, 1.0], np.inf)).median.value is None
