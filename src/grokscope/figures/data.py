"""Input of figures: one `RunCurves` per run. Phases and times are data, computed elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import ConfigError
from ..scores import ACCURACY, either_score
from .style import same_looks

if TYPE_CHECKING:
    from ..store.results import Results

Values = NDArray[np.float64]
FRACTIONS = (-0.02, 1.03)
"""Limits of an axis of accuracies, on which curves at 0 and 1 can be seen."""


@dataclass(frozen=True, kw_only=True)
class RunCurves:
    """One run: its metric table and the results of the analysis."""

    arm: str
    """The condition this run belongs to; runs of one arm share a panel and a colour."""
    seed: int
    """Which repetition of the arm it is."""
    metrics: pd.DataFrame
    """One row per evaluation, with a column `epoch`."""
    phases: Sequence[tuple[str, int, int | None]] = ()
    """(name, first epoch, first epoch after it) of each phase the run went through; None where it lasts to the end."""
    t_mem: int | None = None
    """Epoch of memorisation; None = not by the last epoch."""
    t_grok: int | None = None
    """Epoch of grokking; None = not by the last epoch (censored)."""
    branched: int | None = None
    """Epoch at which it branched from another run, whose rows come before; None for a run with a start of its own."""
    criterion: str = ""
    """What t_grok is, e.g. test accuracy ≥ 99 %, held 100 epochs; empty where that is not known."""
    score: str = ACCURACY
    """What the columns train_accuracy and test_accuracy hold: accuracy, or R² where answers are real numbers."""
    status: str = ""
    """done, grokked, diverged, stopped or running; empty where that is not known. Only a run that is done "never" grokked."""
    positions: Sequence[str] = ()
    """Names of the positions of a sequence, query last, e.g. a, b, distractor 1, =."""
    meaning: str = ""
    """Of `MEANINGS`: what the settings of its arm tell, where the name of the arm may not."""
    informative: Sequence[int] = ()
    """Which of `positions` the label depends on; empty where that differs between examples."""

    @property
    def last_epoch(self) -> int:
        return int(self.metrics["epoch"].max())

    def series(self, column: str) -> tuple[Values, Values]:
        """Epochs and values of one metric, without epoch 0, which a log axis cannot show.

        Values that are not finite or were not recorded are NaN.
        """
        every = self.metrics["epoch"].to_numpy(dtype=np.float64)
        epochs = every[
            every > 0
        ]  # of this column alone: selecting rows of all columns takes most of the time of a figure
        if column not in self.metrics:
            return epochs, np.full_like(epochs, np.nan)
        values = self.metrics[column].to_numpy(dtype=np.float64)[every > 0]
        return epochs, np.where(np.isfinite(values), values, np.nan)

    def attention_columns(self) -> list[str]:
        """attention_0 … attention_{T−1}, in the order of the sequence."""
        numbers = [c.removeprefix("attention_") for c in map(str, self.metrics.columns) if c.startswith("attention_")]
        return [f"attention_{n}" for n in sorted((n for n in numbers if n.isdigit()), key=int)]


def by_arm(runs: Sequence[RunCurves]) -> dict[str, list[RunCurves]]:
    """The runs of each arm, arms in order of appearance."""
    if not runs:
        raise ConfigError("runs", "no runs to draw")
    arms: dict[str, list[RunCurves]] = {}
    for run in runs:
        arms.setdefault(run.arm, []).append(run)
    return arms


def same_looks_of(runs: Sequence[RunCurves]) -> AbstractContextManager[None]:
    """All that is drawn within shows an arm in one colour."""
    return same_looks(list(by_arm(runs)), {run.arm: run.meaning for run in runs if run.meaning})


def score_of(runs: Sequence[RunCurves]) -> str:
    """What an axis of their accuracies is called."""
    return either_score(run.score for run in runs)


def recorded(runs: Sequence[RunCurves], column: str) -> bool:
    """Whether any run has a number in this column after epoch 0."""
    return any(bool(np.isfinite(run.series(column)[1]).any()) for run in runs)


def need(runs: Sequence[RunCurves], column: str) -> None:
    """Raise ConfigError for an empty figure."""
    if runs and not recorded(runs, column):
        raise ConfigError("metric", f"no run has a number for {column} after epoch 0")


def short_position(name: str) -> str:
    """What a position is called on an axis: a, b and = as they are, · for distractors."""
    return name if len(name) < 4 else "·"


def probed(results: Results, name: str) -> pd.DataFrame:
    """The results of a probe; ConfigError for an empty figure."""
    table = results.probes.get(name)
    if table is None or table.empty:
        raise ConfigError("probes", f"the results hold no table of probe {name}")
    return table


def first_seed(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the lowest seed."""
    return rows[rows["seed"] == rows["seed"].min()]


def middle(runs: Sequence[RunCurves]) -> RunCurves:
    """The run that stands for its arm: the (lower) middle one by grokking time, those that have not grokked last."""
    order = sorted(runs, key=lambda run: (math.inf if run.t_grok is None else run.t_grok, run.seed))
    return order[(len(order) - 1) // 2]


def together(runs: Sequence[RunCurves], column: str) -> tuple[Values, Values]:
    """One metric of several runs on common epochs: epochs, and one row per run.

    A run that has stopped keeps its last value, so that the middle of the arm does not jump when its fastest run
    retires; the epochs end where fewer than half of the runs still train. Gaps (NaN) are bridged; a run without a
    number is omitted.
    """
    kept = []
    for run in runs:
        epochs, values = run.series(column)
        finite = np.isfinite(values)
        if finite.any():
            kept.append((epochs[finite], values[finite], run.last_epoch))
    if not kept:
        return np.empty(0), np.empty((0, 0))
    end = sorted((last for *_, last in kept), reverse=True)[(len(kept) + 1) // 2 - 1]
    common = np.unique(np.concatenate([epochs for epochs, *_ in kept]))
    start = max(epochs[0] for epochs, *_ in kept)
    common = common[(common >= start) & (common <= end)]
    return common, np.array([np.interp(common, epochs, values) for epochs, values, _ in kept])
