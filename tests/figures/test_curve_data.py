"""What the pictures are drawn from: order of arms, the middle run, and several runs on common epochs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grokscope.errors import ConfigError
from grokscope.figures.data import RunCurves, by_arm, middle, need, recorded, together
from grokscope.figures.panels import outcomes, short_number, wrapped
from grokscope.figures.phases import phase_names


def run(epochs: list[int], values: list[float], **given: object) -> RunCurves:
    return RunCurves(arm="x", seed=0, metrics=pd.DataFrame({"epoch": epochs, "y": values}), **given)  # type: ignore[arg-type]


def test_arms_keep_the_order_of_appearance(make):
    arms = by_arm([make("z", 0), make("a", 0), make("z", 1)])
    assert [(arm, [r.seed for r in members]) for arm, members in arms.items()] == [("z", [0, 1]), ("a", [0])]


def test_no_runs_is_an_error():
    with pytest.raises(ConfigError, match="runs: no runs to draw"):
        by_arm([])


@pytest.mark.parametrize(
    ("times", "expected"),
    [([300], 300), ([300, 100, 200], 200), ([None, 100, 200], 200), ([None, 100, None], None), ([100, 200], 100)],
)
def test_middle_run_counts_never_as_latest(make, times, expected):
    assert middle([make(seed=seed, t_grok=t) for seed, t in enumerate(times)]).t_grok == expected


def test_series_drops_epoch_0_and_blanks_what_is_not_finite():
    epochs, values = run([0, 1, 2, 3], [9.0, 1.0, np.inf, 3.0]).series("y")
    assert epochs.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(values, [1, np.nan, 3])


def test_a_stopped_run_keeps_its_last_value_while_half_of_the_runs_train():
    short, long, longest = run([1, 2], [0.0, 1.0]), run([1, 2, 4], [0.0, 2.0, 4.0]), run([1, 8], [0.0, 7.0])
    epochs, values = together([short, long, longest], "y")
    assert epochs.tolist() == [1, 2, 4]
    assert values.tolist() == [[0, 1, 1], [0, 2, 4], [0, 1, 3]]


def test_together_bridges_gaps_and_leaves_out_runs_without_numbers():
    epochs, values = together([run([1, 2, 3], [1.0, np.nan, 3.0]), run([1, 2, 3], [np.nan] * 3)], "y")
    assert epochs.tolist() == [1, 3]
    assert values.tolist() == [[1, 3]]
    assert together([run([1], [np.nan])], "y")[0].size == 0


@given(st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=6), min_size=1, max_size=5))
def test_together_stays_within_what_was_recorded(columns):
    members = [run(list(range(1, len(column) + 1)), column) for column in columns]
    epochs, values = together(members, "y")
    assert values.shape == (len(columns), epochs.size)
    for row, column in zip(values, columns, strict=True):
        assert row.min() >= min(column) - 1e-9
        assert row.max() <= max(column) + 1e-9


def test_recorded_wants_a_number_after_epoch_0():
    assert recorded([run([0, 1], [1.0, 2.0])], "y")
    assert not recorded([run([0, 1], [1.0, np.nan])], "y")
    assert not recorded([run([0, 1], [1.0, 2.0])], "z")
    with pytest.raises(ConfigError, match="metric: no run has a number for z"):
        need([run([0, 1], [1.0, 2.0])], "z")


def test_phases_are_ordered_as_runs_go_through_them():
    skips = run([1], [1.0], phases=[("memorisation", 0, 5), ("grokking", 5, None)])
    full = run([1], [1.0], phases=[("memorisation", 0, 5), ("plateau", 5, 9), ("grokking", 9, None)])
    assert phase_names([skips, full]) == ["memorisation", "plateau", "grokking"]


def test_outcomes_in_words(runs, make):
    assert outcomes(runs) == {
        "no prior": "3 of 3 grokked, middle seed at 650",
        "oracle": "3 of 3 grokked, middle seed at 250",
        "adversarial": "0 of 3 grokked by epoch 1,000",
    }
    assert outcomes([make("one", t_grok=1234)]) == {"one": "grokked at epoch 1,234"}
    assert outcomes([make("one", t_grok=None)]) == {"one": "never grokked by epoch 1,000"}


@pytest.mark.parametrize(
    ("status", "one", "three"),
    [
        ("stopped", " (stopped)", ", 2 stopped"),
        ("running", " (still running)", ", 2 still running"),
        ("diverged", " (diverged)", ", 2 diverged"),
        ("", "", ""),
    ],
)
def test_never_is_not_said_of_runs_that_were_not_trained_to_their_last_epoch(make, status, one, three):
    assert outcomes([make("one", t_grok=None, status=status)]) == {"one": f"not grokked by epoch 1,000{one}"}
    runs = [make("three", seed, t_grok=None, status=status) for seed in range(2)]
    assert outcomes([*runs, make("three", 2, t_grok=400)]) == {"three": f"1 of 3 grokked by epoch 1,000{three}"}


@pytest.mark.parametrize(("value", "text"), [(1, "1"), (500, "500"), (1500, "1.5k"), (10_000, "10k"), (2e6, "2M")])
def test_short_numbers(value, text):
    assert short_number(value) == text


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("oracle", 20, ["oracle"]),
        ("OrthoGrad + StableMax wd 1", 24, ["OrthoGrad +", "StableMax wd 1"]),
        ("a bb ccc", 2, ["a", "bb", "ccc"]),
        ("", 5, []),
    ],
)
def test_long_names_are_wrapped_into_even_lines(text, width, lines):
    assert wrapped(text, width).splitlines() == lines
