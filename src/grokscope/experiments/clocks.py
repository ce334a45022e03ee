"""What counts as time: three clocks at two thresholds, and what can be derived from them.

first    first evaluation at or above the threshold
held     first one from which the accuracy stays there for the window of the criterion
stable   first one from which it never falls below again, known only of runs that trained on after the first crossing for at
         least as long again (`stop.extend`); others are censored

Every clock is a column of the table of runs, found at full resolution when results are collected: `t_first_99`, `t_held_95` …
and `t_mem_first_99` … of train accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from ..analysis.survival import Sample, sample
from .diverged import planned_end


@dataclass(frozen=True)
class Clock:
    """A time of each run, (time + plus − minus)·per/over with columns for all of them, and where a run without it is censored."""

    time: str
    end: str = "epoch"
    """Until when a run without a time was observed; empty where nothing is known but that it is last."""
    unit: str = field(default="", compare=False)
    """Printed after every time; empty for epochs."""
    show: Callable[[float], str] = field(default="{:,.0f}".format, compare=False, repr=False)
    name: str = field(default="", compare=False)
    """In words; empty takes the column's name."""
    ratio: str = field(default="time ratio", compare=False, repr=False)
    """What two arms are compared by, in words."""
    plus: str = ""
    minus: str = ""
    per: str = ""
    over: str = ""

    def __str__(self) -> str:
        return self.name or self.time

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table of runs that it reads, if they are there."""
        own = (self.time, self.end, self.plus, self.minus, self.per, self.over)
        return tuple(dict.fromkeys([*(name for name in own if name), "status", "epoch", "epochs"]))

    def _derived(self, runs: pd.DataFrame, column: str) -> pd.Series:
        value = _numbers(runs, column)
        value = value + _numbers(runs, self.plus) if self.plus else value
        value = (value - _numbers(runs, self.minus)).clip(lower=1.0) if self.minus else value
        value = value * _numbers(runs, self.per) if self.per else value
        return value / _numbers(runs, self.over) if self.over else value

    def sample(self, runs: pd.DataFrame) -> Sample:
        """Times of these runs; those that never reached are censored at their last epoch, diverged ones at the last planned."""
        time = self._derived(runs, self.time)
        if not self.end:
            return sample(time.to_numpy(), np.inf)
        if "status" not in runs or not (runs["status"] == "diverged").any():
            return sample(time.to_numpy(), self._derived(runs, self.end).fillna(np.inf).to_numpy())
        own = runs[[name for name in self.columns if name in runs]]  # a copy of all columns takes longer than the rest
        planned = own.assign(**{self.end: planned_end(runs, _numbers(runs, self.end))})
        end = self._derived(planned, self.end)
        return sample(time.to_numpy(), end.fillna(np.inf).to_numpy())


def _numbers(runs: pd.DataFrame, column: str) -> pd.Series:
    if column not in runs:
        raise NotRunError(f"column {column}")
    return as_floats(runs[column])


def as_floats(column: pd.Series) -> pd.Series:
    """Numbers of any type as float64; None, NaN and NA alike as NaN."""
    if column.dtype == "float64":
        return column
    return pd.to_numeric(column).astype("Float64").astype(float)


class NotRunError(LookupError):
    """An arm or a column that a rule needs is missing at this size."""


CLOCKS = ("first", "held", "stable")
THRESHOLDS = (0.99, 0.95)


def column_of(clock: str, threshold: float, split: str = "test") -> str:
    """`t_first_99`, `t_mem_held_95`: the column of the table of runs."""
    return f"t_{'mem_' if split == 'train' else ''}{clock}_{100 * threshold:g}".replace(".", "_")


def clock_at(threshold: float, clock: str = "first", split: str = "test") -> Clock:
    """A clock at a threshold; experiments list others than 99 % and 95 % in their `thresholds`."""
    words = {"first": "first crossing of {}", "held": "{} held for the window", "stable": "{} stable to the end"}
    accuracy = f"{100 * threshold:g} %" + (" train accuracy" if split == "train" else "")
    return Clock(column_of(clock, threshold, split), name=words[clock].format(accuracy))


FIRST_99, HELD_99, STABLE_99 = (clock_at(0.99, clock) for clock in CLOCKS)
FIRST_95, HELD_95, STABLE_95 = (clock_at(0.95, clock) for clock in CLOCKS)
MEMORISED_99, MEMORISED_95 = (clock_at(threshold, "first", "train") for threshold in THRESHOLDS)


def _delay(threshold: float, name: str, symbol: str) -> Clock:
    """Time of generalisation over that of memorisation, first crossings."""
    return Clock(
        column_of("first", threshold),
        end="",
        over=column_of("first", threshold, "train"),
        show="{:,.2f}".format,
        name=f"{name}, first crossings of {100 * threshold:g} %",
        ratio=f"ratio of {symbol}",
    )


TAU_95 = _delay(0.95, "τ_grok = t_gen/t_mem", "τ_grok")
TAU_99 = _delay(0.99, "t_grok/t_mem", "t_grok/t_mem")
WAIT_99 = Clock("t_first_99", minus="t_mem_first_99", name="t_grok − t_mem, first crossings of 99 %")
WAIT_95 = Clock("t_first_95", minus="t_mem_first_95", name="t_gen − t_mem, first crossings of 95 %")


def in_seconds(clock: Clock) -> Clock:
    """The same in seconds of a run that has the device to itself; for experiments that are `priced`."""
    return replace(
        clock, per="seconds_per_epoch", unit=" s", show="{:,.3g}".format, name=f"{clock}, in seconds of a run alone"
    )


def with_origins(clock: Clock) -> Clock:
    """The same with the epochs of the runs that a teacher or a ticket came from."""
    return replace(clock, plus="epochs_before", name=f"{clock}, with the epochs of the runs it starts from")


def of_column(column: str, name: str = "", show: Callable[[float], str] = "{:.3g}".format) -> Clock:
    """Any positive column as a clock: "sooner" is lower, and a run without a value counts as largest."""
    return Clock(column, end="", show=show, name=name or column, ratio="ratio")


def times(runs: pd.DataFrame, arm: str, clock: Clock) -> Sample:
    """Times of one arm's runs."""
    own = _read_by(clock, runs)[(runs["arm"] == arm).to_numpy()]
    if own.empty:
        raise NotRunError(arm)
    return clock.sample(own)


def _read_by(clock: Clock, runs: pd.DataFrame) -> pd.DataFrame:
    """The columns that a clock reads, with arm and seed: selecting rows of all columns takes most of the time of a ledger."""
    return runs[[name for name in ("arm", "seed", *clock.columns) if name in runs]]


def paired(runs: pd.DataFrame, arms: Sequence[str], clock: Clock) -> list[Sample]:
    """Times of several arms over the seeds that all of them have, in the order of the seeds."""
    return [clock.sample(own) for own in common_seeds(_read_by(clock, runs), arms)]


def common_seeds(runs: pd.DataFrame, arms: Sequence[str]) -> list[pd.DataFrame]:
    """The rows of each arm with the seeds that all of them have, sorted by seed."""
    tables = []
    for arm in arms:
        own = runs[runs["arm"] == arm]
        if own.empty:
            raise NotRunError(arm)
        if own["seed"].duplicated().any():
            raise ValueError(f"arm {arm} has several runs with one seed; a rule compares one run per seed")
        tables.append(own.set_index("seed").sort_index())
    shared = tables[0].index
    for table in tables[1:]:
        shared = shared.intersection(table.index)
    return [table.loc[shared] for table in tables]
