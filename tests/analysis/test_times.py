"""When a run memorised and generalised, on tables small enough to read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grokscope.analysis import Crossing, crossing, run_times

EPOCHS = [0, 50, 100, 150, 200, 250, 300]


def accuracy(*percents: int) -> np.ndarray:
    return np.array(percents, dtype=np.float32) / 100


def test_first_and_sustained_agree_on_a_clean_rise() -> None:
    assert crossing(EPOCHS, accuracy(1, 2, 50, 99, 100, 100, 100), 0.99) == Crossing(150, 150)


def test_crossing_at_the_first_row() -> None:
    assert crossing(EPOCHS, accuracy(100, 100, 100, 100, 100, 100, 100), 0.99) == Crossing(0, 0)


def test_never() -> None:
    assert crossing(EPOCHS, accuracy(1, 2, 50, 98, 98, 98, 98), 0.99) == Crossing(None, None)


def test_a_dip_within_the_window_postpones_the_sustained_crossing() -> None:
    assert crossing(EPOCHS, accuracy(1, 99, 99, 98, 99, 99, 99), 0.99, window=100) == Crossing(50, 200)


def test_a_dip_after_the_window_does_not() -> None:
    assert crossing(EPOCHS, accuracy(1, 99, 99, 99, 20, 20, 20), 0.99, window=100) == Crossing(50, 50)


def test_the_window_includes_its_last_epoch() -> None:
    assert crossing(EPOCHS, accuracy(1, 99, 99, 98, 1, 1, 1), 0.99, window=100) == Crossing(50, None)
    assert crossing(EPOCHS, accuracy(1, 99, 99, 98, 1, 1, 1), 0.99, window=99) == Crossing(50, 50)


def test_where_the_run_ends_early_it_must_hold_to_the_end_over_two_evaluations() -> None:
    assert crossing(EPOCHS, accuracy(1, 1, 1, 1, 1, 99, 99), 0.99, window=1000) == Crossing(250, 250)
    assert crossing(EPOCHS, accuracy(1, 1, 1, 1, 1, 1, 99), 0.99, window=1000) == Crossing(300, None)


def test_evaluations_further_apart_than_the_window_still_need_a_second_witness() -> None:
    assert crossing([0, 1000, 2000, 3000], accuracy(1, 99, 1, 1), 0.99, window=100) == Crossing(1000, None)
    assert crossing([0, 1000, 2000, 3000], accuracy(1, 99, 99, 1), 0.99, window=100) == Crossing(1000, 1000)


def test_exactly_at_the_threshold_counts_whatever_the_rounding() -> None:
    exact = np.float32(0.95)
    assert float(exact) < 0.95  # the trap: the stored number is below the one written
    assert crossing([0, 10], np.array([exact, exact]), 0.95).first == 0
    assert crossing([0, 10], np.array([exact, exact], dtype=float), 0.95).first == 0
    assert crossing([0, 10], [0.9499, 0.9499], 0.95).first is None


def test_nan_is_below_every_threshold() -> None:
    assert crossing(EPOCHS, [0, np.nan, np.nan, 1, np.nan, 1, 1], 0.99) == Crossing(150, 250)


def test_epochs_that_do_not_increase_are_refused() -> None:
    with pytest.raises(ValueError, match="must increase"):
        crossing([0, 10, 10], [0, 1, 1], 0.99)


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 12))
def test_the_sustained_crossing_is_where_the_rule_first_holds(above: list[bool], window: int) -> None:
    def holds(row: int) -> bool:
        rows = [r for r in range(row, len(above)) if r <= row + window or r == row + 1]
        return len(rows) > 1 and all(above[r] for r in rows)

    epochs = 7 * np.arange(len(above))
    found = crossing(epochs, np.array(above, dtype=float), 0.99, window=7 * window)
    assert found.first == (7 * above.index(True) if True in above else None)
    assert found.sustained == next((7 * row for row in range(len(above)) if holds(row)), None)


def run_table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "epoch": EPOCHS,
            "seconds": np.arange(7) * 1.5,
            "train_accuracy": accuracy(1, 96, 99, 100, 98, 100, 100),
            "test_accuracy": accuracy(1, 1, 2, 3, 96, 99, 100),
        }
    )


def test_times_of_a_run() -> None:
    times = run_times(run_table(), window=100)
    assert (times.t_mem, times.t_mem_sustained) == (100, 250)
    assert (times.t_mem_95, times.t_mem_95_sustained) == (50, 50)
    assert (times.t_grok, times.t_grok_sustained) == (250, 250)
    assert (times.t_gen_95, times.t_gen_95_sustained) == (200, 200)
    assert times.tau_grok == 200 / 50
    assert times.seconds_to_grok == 7.5
    assert times.last_epoch == 300
    assert times.to_dict()["tau_grok"] == 4.0
    assert times.to_dict()["t_grok"] == 250


def test_a_run_that_never_generalised_has_no_ratio() -> None:
    table = run_table().assign(test_accuracy=0.1)
    times = run_times(table)
    assert (times.t_mem, times.t_grok, times.tau_grok, times.seconds_to_grok) == (100, None, None, None)


def test_memorised_at_initialisation_has_no_ratio() -> None:
    times = run_times(run_table().assign(train_accuracy=1.0))
    assert (times.t_mem_95, times.t_gen_95, times.tau_grok) == (0, 200, None)


def test_plain_arrays_without_a_clock_will_do() -> None:
    table = {name: run_table()[name].to_list() for name in ("epoch", "train_accuracy", "test_accuracy")}
    assert run_times(table).t_grok == 250
    assert run_times(table).seconds_to_grok is None


def test_a_run_without_evaluations() -> None:
    times = run_times(run_table().iloc[:0])
    assert set(times.to_dict().values()) == {None}
