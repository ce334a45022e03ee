"""Summaries and comparisons of arms on tables small enough to check by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from grokscope.analysis import compare, log_rank, sample, summarise
from grokscope.errors import ConfigError

RUNS = pd.DataFrame(
    {
        "prior.target": [None, None, None, "oracle", "oracle", "oracle", "oracle", "adversarial", "adversarial"],
        "seed": [0, 1, 2, 0, 1, 2, 3, 0, 1],
        "t_mem": [70, 80, 90, 50, 50, 60, 60, 400, None],
        "t_grok": [800, 700, None, 200, 300, 250, 400, None, None],
        "tau_grok": [10.0, 9.0, None, 4.0, 6.0, 5.0, 8.0, None, None],
        "epoch": [900, 800, 1000, 300, 400, 350, 500, 1000, 1000],
        "seconds_to_grok": [8.0, 7.0, None, 2.0, 3.0, 2.5, 4.0, None, None],
        "seconds": [9.0, 8.0, 10.0, 3.0, 4.0, 3.5, 5.0, 10.0, 10.0],
    }
)


def arm(summary: pd.DataFrame, name: object) -> pd.Series:
    """The row of an arm; pandas turns a missing name into NaN, which `loc` does not find."""
    return summary[summary.index.isna()].iloc[0] if name is None else summary.loc[name]


def test_summary_counts_the_censored() -> None:
    summary = summarise(RUNS, "prior.target")
    assert summary["runs"].tolist() == [3, 4, 2]
    assert summary["censored"].tolist() == [1, 0, 2]
    assert summary.index.name == "prior.target"
    assert summary.index.tolist()[1:] == ["oracle", "adversarial"]


def test_summary_of_an_arm_with_a_run_that_never_grokked() -> None:
    plain = arm(summarise(RUNS, "prior.target"), None)
    # Shares 2/3 at 700 and 1/3 at 800: half is passed at 800, where the two that grokked alone would say 750.
    assert plain["median"] == 800
    assert (plain["fastest"], plain["q25"], plain["q75"], plain["slowest"]) == (700, 725, 775, 800)
    assert (plain["median_t_mem"], plain["median_tau_grok"]) == (80, 9.5)
    assert plain["median_low"] == 700
    assert math.isnan(plain["median_high"])


def test_summary_of_an_arm_that_never_grokked() -> None:
    misled = arm(summarise(RUNS, "prior.target"), "adversarial")
    assert misled["median_t_mem"] == 400
    assert all(math.isnan(misled[name]) for name in ("median", "q25", "fastest", "slowest", "median_tau_grok"))


def test_another_clock() -> None:
    summary = summarise(RUNS, "prior.target", time="seconds_to_grok", end="seconds")
    assert arm(summary, "oracle")["median"] == 2.5
    assert arm(summary, "oracle")["slowest"] == 4.0


@pytest.mark.parametrize("missing", ["Int64", "Float64", object])
def test_missing_times_may_come_in_any_dress(missing: object) -> None:
    dressed = RUNS.astype({"t_grok": missing, "t_mem": missing})
    pd.testing.assert_frame_equal(summarise(dressed, "prior.target"), summarise(RUNS, "prior.target"))


def test_several_columns_tell_arms_apart() -> None:
    table = RUNS.assign(wd=np.where(RUNS["seed"] < 2, 1.0, 0.0)).drop(columns=["tau_grok", "t_mem"])
    summary = summarise(table, ["prior.target", "wd"])
    assert len(summary) == 5
    assert "median_t_mem" not in summary
    assert summary.loc[[("oracle", 0.0)], "median"].tolist() == [250]


def test_comparison_is_the_log_rank_test_with_holm() -> None:
    comparison = compare(RUNS, "prior.target")
    plain, oracle = sample([800, 700, None], [900, 800, 1000]), sample([200, 300, 250, 400], 500)
    misled = sample([None, None], 1000)
    assert comparison.overall == log_rank(plain, oracle, misled)
    pairs = comparison.pairs
    assert pairs["other"].tolist() == ["oracle", "adversarial", "adversarial"]
    assert pairs["p"].tolist() == [log_rank(*two).p for two in ((plain, oracle), (plain, misled), (oracle, misled))]
    assert pairs["p_holm"].min() == pytest.approx(3 * pairs["p"].min())


def test_unknown_columns_are_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"prior.taget: .*Did you mean prior.target\?"):
        summarise(RUNS, "prior.taget")
    with pytest.raises(ConfigError, match="t_grk"):
        compare(RUNS, "prior.target", time="t_grk")


def test_nothing_to_compare() -> None:
    with pytest.raises(ConfigError, match="only 1 arm"):
        compare(RUNS[RUNS["prior.target"] == "oracle"], "prior.target")
    with pytest.raises(ConfigError, match="no runs to summarise"):
        summarise(RUNS.iloc[:0], "prior.target")
