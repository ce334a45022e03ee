"""Curves on common epochs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grokscope.live.curves import band, common_epochs, plain, sampled


def table(epochs, values):
    return {"epoch": np.array(epochs, dtype=float), "D": np.array(values, dtype=float)}


def test_few_epochs_are_all_there():
    tables = [table([0, 25, 50], [3, 2, 1]), table([0, 10, 50], [3, 2, 1])]
    assert common_epochs(tables, log=False).tolist() == [0, 10, 25, 50]
    assert common_epochs(tables, log=True).tolist() == [10, 25, 50]
    assert common_epochs([], log=True).tolist() == common_epochs([table([], [])], log=True).tolist() == []


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=300, unique=True), st.booleans())
def test_a_grid_is_bounded_and_made_of_evaluations_and_has_the_last(epochs, log):
    epochs = sorted(epochs)
    grid = common_epochs([table(epochs, epochs)], log=log, points=40).tolist()
    assert len(grid) <= 40 and set(grid) <= set(epochs)
    assert grid == sorted(grid)
    assert grid[-1:] == [epoch for epoch in epochs if epoch > 0 or not log][-1:]


def test_a_point_shows_the_last_value_since_the_one_before():
    run = table([0, 1, 2, 3, 4, 8], [0.0, 0.1, 0.2, math.nan, 0.4, 0.8])
    assert plain(sampled(run, "D", np.array([1.0, 3.0, 4.0, 6.0, 8.0]))) == [0.1, 0.2, 0.4, None, 0.8]
    assert plain(sampled(run, "mass", np.array([1.0, 2.0]))) == [None, None]


def test_a_log_axis_shows_no_zeros():
    run = table([1, 2, 3], [0.0, -1.0, 2.0])
    assert plain(sampled(run, "D", np.array([1.0, 2.0, 3.0]), positive=True)) == [None, None, 2.0]


def test_median_and_band_by_hand():
    grid = np.array([10.0, 20.0, 30.0])
    runs = [table([10, 20, 30], [level, level + 1, level + 2]) for level in range(11)]
    found = band(runs, "D", grid)
    assert found.middle.tolist() == [5, 6, 7]
    assert found.low.tolist() == [1, 2, 3]
    assert found.high.tolist() == [9, 10, 11]


def test_a_run_that_stopped_keeps_its_value_and_curves_end_with_half_of_the_runs():
    grid = np.array([10.0, 20.0, 30.0, 40.0])
    runs = [table([10, 20], [1, 5]), table([10, 20, 30], [1, 1, 1]), table([10, 20, 30, 40], [1, 2, 3, 4])]
    assert plain(band(runs, "D", grid).middle) == [1.0, 2.0, 3.0, None]
    runs[0]["D"][:] = np.nan  # no value at all: it does not count
    assert plain(band(runs, "D", grid).middle) == [1.0, 1.5, 2.0, 2.5]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.123456, 0.1235), (123456.0, 123500.0), (-1e-9, -1e-9), (0.0, 0.0), (math.inf, None), (math.nan, None)],
)
def test_numbers_for_a_page(value, shown):
    (found,) = plain(np.array([value]))
    assert found == (pytest.approx(shown, rel=1e-12) if shown is not None else None)
