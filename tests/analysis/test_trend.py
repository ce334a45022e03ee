"""Permutation tests against a reference arm, and for a trend: by hand, their size, and against SciPy's."""

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from grokscope.analysis import compare_with, trend_over
from grokscope.analysis.pairs import p_later, p_sooner, prentice_scores
from grokscope.analysis.survival import sample
from grokscope.errors import ConfigError


def two_arms(one, two, seeds=True):
    rows = [(arm, time) for arm, times in (("a", one), ("b", two)) for time in times]
    runs = pd.DataFrame(rows, columns=["arm", "t_grok"]).assign(epoch=1000)
    return runs.assign(seed=[*range(len(one)), *range(len(two))]) if seeds else runs


def test_arms_that_share_their_seeds_are_paired_as_in_the_ledger():
    one, two = [100, 200, 300, None, 500, 610, 700], [150, 260, 340, 900, None, 615, 720]
    (row,) = compare_with(two_arms(one, two), "arm", "b").to_dict("records")
    arms = (sample(one, 1000), sample(two, 1000))
    assert row["paired"] and row["p"] == pytest.approx(min(1, 2 * min(p_sooner(*arms), p_later(*arms))))
    assert row["least"] == 2 / 2**7 <= row["p"]


def test_the_order_of_rows_does_not_break_pairs():
    runs = two_arms([100, 200, 300, 400, 500, 600], [110, 215, 330, 420, 540, 660])
    mixed = runs.sample(frac=1, random_state=3)
    one, other = (compare_with(own, "arm", "b").to_dict("records") for own in (runs, mixed))
    assert one == other and one[0]["p"] == pytest.approx(2 / 2**6)


@pytest.mark.parametrize("change", ["no seeds", "other seeds", "a seed twice"])
def test_arms_that_do_not_share_their_seeds_are_permuted_as_a_whole(change):
    one, two = [100.0, 220.0, 310.0, 400.0], [350.0, 420.0, 500.0, 640.0, 700.0]
    runs = two_arms(one, two, seeds=change != "no seeds")
    if change == "a seed twice":
        runs["seed"] = [0, 0, 1, 2, 0, 0, 1, 2, 3]
    (row,) = compare_with(runs, "arm", "b").to_dict("records")
    scores = prentice_scores(np.array(one + two), np.ones(9, dtype=bool))

    def difference(x, y):
        return np.mean(x) - np.mean(y)

    theirs = permutation_test((scores[:4], scores[4:]), difference, n_resamples=np.inf)
    assert not row["paired"] and row["z"] > 0
    assert row["p"] == pytest.approx(theirs.pvalue) and row["least"] == 2 / math.comb(9, 4)


def test_a_trend_by_hand():
    """One seed at three values: of the six orders of the ranks the observed one is the most extreme."""
    runs = pd.DataFrame({"beta": [1, 2, 3], "t_grok": [30, 20, 10], "epoch": 99, "seed": 0})
    found = trend_over(runs, "beta")
    scores, ranks = prentice_scores(np.array([30, 20, 10.0]), np.ones(3, bool)), np.arange(3.0)
    sums = np.array([-(ranks[list(order)] @ scores) for order in permutations(range(3))])
    assert found.paired and found.z == pytest.approx((sums[0] - sums.mean()) / sums.std())
    assert found.p == pytest.approx(2 / 6, abs=0.01)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=6, max_size=12))
def test_only_the_order_of_a_setting_counts(cells):
    beta = [at % 3 for at in range(len(cells))]
    runs = pd.DataFrame({"beta": beta, "t_grok": [t if g else None for t, g in cells], "epoch": 50})
    other = runs.assign(beta=[10**value for value in beta])
    assert trend_over(runs, "beta") == trend_over(other, "beta")
    reverse = trend_over(runs.assign(beta=[-value for value in beta]), "beta")
    assert reverse.z == pytest.approx(-trend_over(runs, "beta").z)


def test_five_percent_of_tests_without_an_effect_are_below_five_percent():
    """The asymptotic log-rank test of five against five runs had 7 %."""
    draw, p = np.random.default_rng(0), {False: [], True: []}
    for _ in range(150):
        common = draw.normal(size=8)
        one, two = (list(np.exp(5 + common + 0.5 * draw.normal(size=8))) for _ in range(2))
        for seeds, found in p.items():
            found.append(compare_with(two_arms(one, two, seeds), "arm", "b")["p"][0])
    assert np.mean(np.array(p[True]) <= 0.05) <= 0.09
    assert np.mean(np.array(p[False]) <= 0.05) <= 0.09


def test_nothing_grokked_is_no_trend():
    runs = pd.DataFrame({"arm": list("aabb"), "beta": [0, 0, 1, 1], "t_grok": None, "epoch": 9, "seed": [0, 1, 0, 1]})
    assert trend_over(runs, "beta")[:2] == (0.0, 1.0)
    assert trend_over(runs[runs["beta"] == 0], "beta")[:2] == (0.0, 1.0)
    assert compare_with(runs, "arm", "a")[["z", "p"]].to_numpy().tolist() == [[0.0, 1.0]]


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
    assert (found["p_holm"] >= found["p"]).all() and (found["p_holm"] < 0.05).all() and not found["paired"].any()
    with pytest.raises(ConfigError, match=r"no arm is called 'nune'. Did you mean none\?"):
        compare_with(table(rows), "arm", "nune")
