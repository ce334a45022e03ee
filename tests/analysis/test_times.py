"""When a run memorised and generalised, on tables small enough to read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grokscope.analysis import DEFAULT, FIRST_TOUCH, Criterion, Times, run_times, summary_of
from grokscope.analysis.times import stable_time
from grokscope.config import RunConfig, Stop
from grokscope.errors import ConfigError
from grokscope.fleet.stopping import StopRule

EPOCHS = [0, 50, 100, 150, 200, 250, 300]


def accuracy(*percents: int) -> np.ndarray:
    return np.array(percents, dtype=np.float32) / 100


def times(epochs: Any, values: Any, threshold: float = 0.99, window: int = 100) -> tuple[int | None, ...]:
    """By each of the clocks: first, held, stable."""
    clocks = ("first", "held", "stable")
    return tuple(Criterion(threshold=threshold, clock=c, window=window).time(epochs, values) for c in clocks)


def test_all_clocks_agree_on_a_clean_rise() -> None:
    assert times(EPOCHS, accuracy(1, 2, 50, 99, 100, 100, 100)) == (150, 150, 150)


def test_at_the_first_row() -> None:
    assert times(EPOCHS, accuracy(100, 100, 100, 100, 100, 100, 100)) == (0, 0, 0)


def test_not_reached() -> None:
    assert times(EPOCHS, accuracy(1, 2, 50, 98, 98, 98, 98)) == (None, None, None)


def test_a_run_that_touched_the_threshold_and_ends_below_it_has_not_grokked() -> None:
    values = accuracy(1, 99, 98, 97, 98, 97, 98)
    assert times(EPOCHS, values) == (50, None, None)
    assert run_times({"epoch": EPOCHS, "train_accuracy": values, "test_accuracy": values}).t_grok is None


def test_a_dip_within_the_window_postpones_the_held_time() -> None:
    assert times(EPOCHS, accuracy(1, 99, 99, 98, 99, 99, 99)) == (50, 200, 200)


def test_a_dip_after_the_window_postpones_only_the_stable_time() -> None:
    assert times(EPOCHS, accuracy(1, 99, 99, 99, 20, 99, 99)) == (50, 50, 250)
    assert times(EPOCHS, accuracy(1, 99, 99, 99, 20, 20, 20)) == (50, 50, None)


def test_the_window_is_filled_by_the_evaluation_at_its_end() -> None:
    assert times(EPOCHS, accuracy(1, 99, 99, 98, 1, 1, 1), window=100)[1] is None
    assert times(EPOCHS, accuracy(1, 99, 99, 98, 1, 1, 1), window=50)[1] == 50
    # between 50 and 99 epochs nothing was evaluated: what is not seen is not taken for granted
    assert times(EPOCHS, accuracy(1, 99, 99, 98, 1, 1, 1), window=51)[1] is None


def test_where_the_run_ends_early_it_must_be_held_to_the_end_over_two_evaluations() -> None:
    assert times(EPOCHS, accuracy(1, 1, 1, 1, 1, 99, 99), window=1000) == (250, 250, 250)
    assert times(EPOCHS, accuracy(1, 1, 1, 1, 1, 1, 99), window=1000) == (300, None, 300)


def test_evaluations_further_apart_than_the_window_still_need_a_second_witness() -> None:
    assert times([0, 1000, 2000, 3000], accuracy(1, 99, 1, 1)) == (1000, None, None)
    assert times([0, 1000, 2000, 3000], accuracy(1, 99, 99, 1)) == (1000, 1000, None)


def test_held_for_no_time_is_the_first_touch() -> None:
    assert times(EPOCHS, accuracy(1, 99, 1, 1, 1, 1, 1), window=0)[:2] == (50, 50)


@pytest.mark.parametrize(("correct", "threshold"), [(95, 0.95), (99, 0.99)])
def test_exactly_at_the_threshold_counts_as_it_is_stored(correct: int, threshold: float) -> None:
    stored = np.float32(correct / 100)  # 0.95 is stored as 0.94999999, below the number written
    for kind in (np.float32, np.float64):
        assert times([0, 200], np.array([stored, stored], dtype=kind), threshold) == (0, 0, 0)
    assert times([0, 200], [threshold - 1e-4] * 2, threshold) == (None, None, None)


def test_nan_is_below_every_threshold() -> None:
    assert times(EPOCHS, [0, np.nan, np.nan, 1, np.nan, 1, 1]) == (150, 250, 250)


def test_epochs_that_do_not_increase_are_refused() -> None:
    with pytest.raises(ValueError, match="must increase"):
        DEFAULT.time([0, 10, 10], [0, 1, 1])


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 90))
def test_the_clocks_are_what_they_say(above: list[bool], window: int) -> None:
    epochs = 7 * np.arange(len(above))

    def held(row: int) -> bool:
        filled = next((later for later in range(row, len(above)) if 7 * (later - row) >= window), len(above) - 1)
        to_the_end = filled == len(above) - 1 and 7 * (filled - row) < window
        return all(above[row : filled + 1]) and not (to_the_end and row == filled)

    rules = {"first": lambda row: above[row], "held": held, "stable": lambda row: all(above[row:])}
    expected = (next((7 * row for row in range(len(above)) if rule(row)), None) for rule in rules.values())
    assert times(epochs, np.array(above, dtype=float), window=window) == tuple(expected)


@given(
    st.lists(st.sampled_from([0.5, 0.9499, np.float32(0.95), 1.0]), min_size=1, max_size=25),
    st.lists(st.integers(1, 60), min_size=25, max_size=25),
    st.integers(0, 150),
)
def test_a_run_retires_exactly_when_the_clock_held_is_satisfied(
    values: list[float], steps: list[int], window: int
) -> None:
    """The stop rule, which sees one evaluation after the other, and the times, which see them all, are one rule."""
    epochs = np.cumsum([0, *steps])[: len(values)].tolist()
    stop_rule = StopRule(RunConfig(epochs=max(epochs[-1], 1), stop=Stop(accuracy=0.95, window=window)))
    status, seen = None, 0
    while status is None and seen < len(values):
        row = {"epoch": epochs[seen], "train_loss": 0.1, "test_accuracy": float(values[seen])}
        status, seen = stop_rule.status_of(row), seen + 1
    criterion = Criterion(threshold=0.95, clock="held", window=window)
    found = criterion.time(epochs[:seen], values[:seen])
    at_the_end = epochs[seen - 1] >= max(epochs[-1], 1)
    if status == "grokked":
        assert found == stop_rule.held_since
    elif at_the_end:
        assert status == "done" and found is None
    assert at_the_end or status == "grokked" or seen == len(values)
    assert all(
        (since := criterion.time(epochs[:k], values[:k])) is None or epochs[k - 1] - since < window
        for k in range(1, seen)
    )


def test_a_criterion_in_words() -> None:
    assert str(DEFAULT) == "≥ 99 %, held 100 epochs"
    assert FIRST_TOUCH.describe("train accuracy") == "train accuracy ≥ 99 %, first touch"
    assert Criterion(threshold=0.995, clock="stable").describe() == "test accuracy ≥ 99.5 %, to the end of the run"


def test_a_criterion_survives_json() -> None:
    criterion = Criterion(threshold=0.975, clock="stable", window=7)
    assert Criterion.from_dict(json.loads(json.dumps(criterion.to_dict()))) == criterion


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"clock": "hold"}, "clock: no clock is called 'hold'. Did you mean held?"),
        ({"threshold": 99.0}, "threshold: 99 is not an accuracy between 0 and 1, such as 0.99"),
        ({"threshold": 0.0}, "threshold: 0 is not an accuracy"),
        ({"window": -1}, "window: -1 is below 0"),
    ],
)
def test_an_invalid_criterion_is_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError) as error:
        Criterion(**given)
    assert str(error.value).startswith(line)


def run_table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "epoch": EPOCHS,
            "seconds": np.arange(7) * 1.5,
            "train_accuracy": accuracy(1, 96, 99, 100, 98, 100, 100),
            "test_accuracy": accuracy(1, 1, 99, 3, 96, 99, 100),
        }
    )


def test_times_of_a_run() -> None:
    found = run_times(run_table())
    assert (found.t_mem, found.t_mem_first, found.t_mem_95) == (250, 100, 50)
    assert (found.t_grok, found.t_grok_first, found.t_gen_95) == (250, 100, 200)
    assert found.tau_grok == 200 / 50
    assert found.seconds_to_grok == 7.5
    assert found.last_epoch == 300
    assert found.to_dict()["tau_grok"] == 4.0
    assert found.to_dict()["t_grok"] == 250


def test_the_ratio_goes_by_the_same_clock() -> None:
    found = run_times(run_table(), FIRST_TOUCH)
    assert (found.t_mem, found.t_grok) == (found.t_mem_first, found.t_grok_first) == (100, 100)
    assert (found.t_mem_95, found.t_gen_95, found.tau_grok) == (50, 100, 2.0)
    assert found.seconds_to_grok == 3.0
    assert run_times(run_table(), replace(FIRST_TOUCH, threshold=0.5)).tau_grok == 2.0


def test_what_is_stored_says_by_which_criterion() -> None:
    stored = json.loads(json.dumps(summary_of(run_table())))
    assert stored["criterion"] == {"threshold": 0.99, "clock": "held", "window": 100}
    assert Times.from_dict(stored) == run_times(run_table())


def test_a_run_that_has_not_generalised_has_no_ratio() -> None:
    found = run_times(run_table().assign(test_accuracy=0.1))
    assert (found.t_mem, found.t_grok, found.tau_grok, found.seconds_to_grok) == (250, None, None, None)


def test_memorised_at_initialisation_has_no_ratio() -> None:
    found = run_times(run_table().assign(train_accuracy=1.0))
    assert (found.t_mem_95, found.t_gen_95, found.tau_grok) == (0, 200, None)


def test_plain_arrays_without_a_clock_will_do() -> None:
    table = {name: run_table()[name].to_list() for name in ("epoch", "train_accuracy", "test_accuracy")}
    assert run_times(table).t_grok == 250
    assert run_times(table).seconds_to_grok is None


def test_a_run_without_evaluations() -> None:
    found = run_times(run_table().iloc[:0])
    assert set(found.to_dict().values()) == {None}


def test_stable_needs_training_on_for_as_long_again() -> None:
    epochs = np.arange(0, 1001, 50)
    risen = np.where(epochs >= 400, 1.0, 0.1)
    assert stable_time(epochs, risen, 0.99) == 400
    assert stable_time(epochs[:16], risen[:16], 0.99) is None  # ends at 750 < 2 · 400
    assert stable_time(epochs[:17], risen[:17], 0.99) == 400
    dipped = np.where(epochs == 600, 0.5, risen)
    assert stable_time(epochs, dipped, 0.99) == 650
    assert stable_time(epochs, np.where(epochs == 950, 0.5, risen), 0.99) is None  # 50 epochs are no window
    assert stable_time(epochs, np.where(epochs == 1000, 0.5, risen), 0.99) is None
    assert stable_time(epochs, np.full(21, 0.1), 0.99) is None
