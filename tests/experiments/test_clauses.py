"""What is said of runs: medians and shares with their intervals, on every clock."""

import numpy as np
import pytest
from scipy.stats import binom
from tables import runs_of

from grokscope.analysis import kaplan_meier, sample
from grokscope.analysis.shares import share_interval
from grokscope.experiments.clauses import median_interval, say, say_share
from grokscope.experiments.clocks import Clock, NotRunError

GROKKED = Clock("t_grok")


@pytest.mark.parametrize(
    ("t_grok", "last"),
    [
        ([100, 300, 200, 500, 400], 1000),
        ([100, 100, 300, None, None], 1000),
        ([100, None, 300, None, 700, 250], [1000, 150, 1000, 1000, 1000, 1000]),  # censored early too
    ],
)
def test_the_interval_is_that_of_kaplan_meier_medians_of_resamples(t_grok, last):
    own = sample(t_grok, last)
    chosen = np.random.default_rng(0).integers(0, len(own.time), (300, len(own.time)))
    medians = [
        kaplan_meier(sample(np.where(own.grokked, own.time, np.nan)[c], own.time[c])).median.value for c in chosen
    ]
    low, high = np.quantile([np.inf if m is None else m for m in medians], [0.025, 0.975], method="inverted_cdf")
    assert median_interval(own, draws=300) == (low, high)


def test_five_seeds_span_their_interval():
    assert median_interval(sample([100, 300, 200, 500, 400], 1000)) == (100, 500)


def test_what_is_said_of_an_arm():
    table = runs_of(all_of_them=[1000, 2000, 3000, 4000, 5000], few=[1000, None, None], none=[None, None])
    assert say(table, "all of them", GROKKED) == "all of them: 3,000 (1,000–5,000; 5/5)"
    assert say(table, "few", GROKKED) == "few: not reached (1,000–never; 1/3)"
    assert say(table, "none", GROKKED, name="") == "never by 10,000 (0/2)"
    with pytest.raises(NotRunError):
        say(table, "another", GROKKED)


def test_never_is_not_said_of_an_arm_whose_runs_diverged():
    table = runs_of(none=[None, None], all_of_them=[1000]).assign(status=["done", "diverged", "grokked"])
    assert say(table, "none", GROKKED) == "none: not by 10,000 (0/2, 1 diverged)"
    assert say(table, "all of them", GROKKED) == "all of them: 1,000 (1,000–1,000; 1/1)"
    assert say(table.assign(status="done"), "none", GROKKED) == "none: never by 10,000 (0/2)"


@pytest.mark.parametrize(("true", "count"), [(0, 5), (5, 5), (3, 7), (1, 10)])
def test_the_interval_of_a_share_is_exact(true, count):
    """Clopper and Pearson: at either end of the interval what was seen, or more extreme, has a probability of 2.5 %."""
    low, high = share_interval(true, count)
    assert binom.sf(true - 1, count, low) == pytest.approx(0.025) if true else low == 0
    assert binom.cdf(true, count, high) == pytest.approx(0.025) if true < count else high == 1


def test_what_is_said_of_a_share():
    assert say_share(5, 5) == "5/5 runs (95 % interval 48–100 %)"
    assert say_share(0, 0) == "no run to judge"
