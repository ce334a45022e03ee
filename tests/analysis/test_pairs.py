"""Paired tests: exact where SciPy or counting gives the answer, and of the right size."""

import numpy as np
import pytest
from scipy.stats import permutation_test, wilcoxon

from grokscope.analysis.blocks import p_differ
from grokscope.analysis.pairs import (
    hodges_lehmann,
    p_later,
    p_ratio_above,
    p_ratio_below,
    p_sooner,
    prentice_scores,
    sign_flip,
    signed_ranks,
    time_ratio,
)
from grokscope.analysis.survival import Sample, sample


def test_all_assignments_are_counted_while_they_are_few():
    assert sign_flip([1, 1, 1, 1, 1]) == 1 / 32
    assert sign_flip([1, 2, 4, -8]) == 8.0 / 16 + 1 / 16  # sums −1 and above
    assert sign_flip([0, 0, 3]) == 0.5
    assert sign_flip([]) == sign_flip([0, 0]) == 1


def test_it_is_scipys_permutation_test():
    x = np.random.default_rng(0).normal(0.4, 1, 12)
    theirs = permutation_test((x,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="greater")
    assert sign_flip(x) == pytest.approx(theirs.pvalue)


def test_many_pairs_are_drawn_and_agree_with_wilcoxons_exact_test():
    x = np.random.default_rng(3).normal(0.3, 1, 24)
    exact = wilcoxon(x, alternative="greater", method="exact").pvalue
    assert sign_flip(signed_ranks(x)) == pytest.approx(exact, abs=0.003)


def test_scores_are_ranks_without_censoring():
    scores = prentice_scores(np.array([30.0, 10, 20]), np.array([True] * 3))
    assert scores == pytest.approx([0.5, -0.5, 0.0])
    tied = prentice_scores(np.array([10.0, 10, 20]), np.array([True] * 3))
    assert tied == pytest.approx([-0.25, -0.25, 0.5])


def test_a_run_that_never_reached_is_latest_whenever_it_ended():
    time, reached = np.array([100.0, 200, 300, 20_000]), np.array([True, True, True, False])
    scores = prentice_scores(time, reached)
    assert scores.argmax() == 3
    later = prentice_scores(np.array([100.0, 200, 300, 90_000]), reached)
    assert scores == pytest.approx(later)


def test_scores_of_many_tables_are_those_of_each():
    generator = np.random.default_rng(1)
    time, reached = generator.integers(1, 9, (20, 12)).astype(float), generator.random((20, 12)) < 0.7
    assert prentice_scores(time, reached) == pytest.approx(
        np.stack([prentice_scores(t, r) for t, r in zip(time, reached, strict=True)])
    )


def test_one_run_that_never_groks_does_not_hide_the_others():
    """Nine pairs 50 times as fast, the tenth never: log-rank gave p > 0.4."""
    fast = sample([300.0 + i for i in range(9)] + [np.nan], 20_000)
    slow = sample([15_000.0 - 10 * i for i in range(10)], 20_000)
    assert p_sooner(fast, slow) < 0.025
    assert p_later(fast, slow) > 0.9


def test_the_paired_test_has_its_size():
    generator = np.random.default_rng(5)
    logs = generator.normal(0, 0.5, (2, 1000, 12)) + generator.normal(0, 1, (1000, 12))
    reached = logs < 1.5  # censored at a common horizon
    arms = [Sample(np.exp(np.minimum(own, 1.5)), there) for own, there in zip(logs, reached, strict=True)]
    assert np.mean(p_sooner(*arms, draws=4000) < 0.05) == pytest.approx(0.05, abs=0.02)


def test_hodges_lehmann_and_its_interval():
    x = np.array([1.1, 2.3, 0.4, 3.8, 2.0, 1.7, 2.9, 0.9])
    middle, low, high = hodges_lehmann(x)
    means = sorted((a + b) / 2 for i, a in enumerate(x) for b in x[i:])
    assert middle == pytest.approx(np.median(means))
    assert (low, high) == pytest.approx((means[3], means[-4]))  # R's wilcox.test(x, conf.int = TRUE)
    assert hodges_lehmann(x[:5])[1:] == (-np.inf, np.inf)
    assert np.isnan(hodges_lehmann([])[0])


def test_the_interval_covers_as_often_as_it_says():
    draws = np.random.default_rng(2).normal(0, 1, (600, 10))
    covered = [low <= 0 <= high for _, low, high in map(hodges_lehmann, draws)]
    assert 0.93 <= np.mean(covered) <= 0.98


def test_the_ratio_is_over_pairs_in_which_both_reached():
    arm, other = sample([100, 200, np.nan, 400], 9000), sample([200, 400, 600, np.nan], 9000)
    ratio, low, high, pairs = time_ratio(arm, other)
    assert (ratio, low, high, pairs) == (pytest.approx(0.5), 0.0, np.inf, 2)


def test_equivalence_needs_the_interval_and_the_runs_that_never_reached():
    generator = np.random.default_rng(4)
    times = 1000 * np.exp(generator.normal(0, 0.1, 20))
    arm, other = sample(times, 9000), sample(times * np.exp(generator.normal(0, 0.1, 20)), 9000)
    assert p_ratio_below(arm, other, 1.25) < 0.001 and p_ratio_above(arm, other, 0.8) < 0.001
    assert p_ratio_below(arm, other, 1.0) > 0.01
    half = sample(np.where(np.arange(20) < 10, times, np.nan), 9000)
    assert p_ratio_below(half, other, 1.25) > 0.5  # alike where both reached, but half never do
    never = sample([np.nan] * 20, 9000)
    assert p_ratio_below(never, never, 1.25) == 1


def test_several_arms_with_seeds_as_blocks():
    generator = np.random.default_rng(6)
    common = generator.normal(0, 1, 10)
    arms = [sample(np.exp(common + generator.normal(0, 0.1, 10)), 1e9) for _ in range(3)]
    assert p_differ(arms, 2000) > 0.05
    slower = sample(arms[0].time * 1.4, 1e9)
    assert p_differ([*arms, slower], 2000) < 0.01  # hidden by the seeds' own spread without blocks
    sizes = []
    for _ in range(300):
        logs = generator.normal(0, 1, (3, 8)) + generator.normal(0, 2, 8)
        sizes.append(p_differ([sample(np.exp(own), 1e9) for own in logs], 400) < 0.05)
    assert np.mean(sizes) == pytest.approx(0.05, abs=0.03)
