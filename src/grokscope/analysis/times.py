"""When a run memorised and when it generalised.

Structural inference (App. G.2) calls "grokking time" the first epoch with test accuracy ≥ 99 %; grokking tickets takes
t_mem and t_gen at 95 % and their ratio τ_grok = t_gen / t_mem. Both thresholds are reported, and beside every first
crossing the sustained one, because accuracy can touch a threshold and fall back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

Metrics: TypeAlias = pd.DataFrame | Mapping[str, Any]
"""One run's table: a column a metric, a row an evaluation, epochs increasing."""

WINDOW = 100
"""Epochs for which a sustained crossing has to hold."""

# 95 of 100 right is stored as the float32 0.94999999: without this slack it would not count as 95 %.
ROUNDING = 1e-6


class Crossing(NamedTuple):
    """Epochs at which an accuracy passed a threshold; None where it never did."""

    first: int | None
    """The first evaluation at or above the threshold."""
    sustained: int | None
    """The first evaluation from which it stayed there; see `crossing`."""


def crossing(epochs: ArrayLike, accuracy: ArrayLike, threshold: float, window: int = WINDOW) -> Crossing:
    """First and sustained crossing of `threshold` by `accuracy` (a fraction between 0 and 1; NaN counts as below).

    A crossing is sustained when the accuracy is at or above the threshold at that evaluation, at the next one (however
    far off), and at all others within `window` epochs. So at least two evaluations must agree; where the run ends
    before the window is full, the accuracy must hold to the end of the run.
    """
    epoch = np.asarray(epochs)
    if np.any(np.diff(epoch) <= 0):
        raise ValueError("epochs must increase from row to row")
    above = np.asarray(accuracy) >= threshold - ROUNDING
    rows = np.flatnonzero(above)
    if not len(rows):
        return Crossing(None, None)
    sustained = next((int(epoch[row]) for row in rows if _holds(epoch, above, int(row), window)), None)
    return Crossing(int(epoch[rows[0]]), sustained)


def _holds(epoch: np.ndarray, above: np.ndarray, row: int, window: int) -> bool:
    end = np.searchsorted(epoch, epoch[row] + window, side="right")
    return row + 1 < len(above) and bool(np.all(above[row : max(end, row + 2)]))


@dataclass(frozen=True, kw_only=True)
class Times:
    """The times of one run, in epochs; None is "never by `last_epoch`"."""

    last_epoch: int | None
    """Last evaluated epoch; None for a run without evaluations. A run that never grokked is censored here."""
    t_mem: int | None
    """First epoch with train accuracy ≥ 99 %."""
    t_grok: int | None
    """First epoch with test accuracy ≥ 99 %."""
    t_mem_sustained: int | None
    """Epoch from which train accuracy stayed ≥ 99 %."""
    t_grok_sustained: int | None
    """Epoch from which test accuracy stayed ≥ 99 %."""
    t_mem_95: int | None
    """First epoch with train accuracy ≥ 95 %."""
    t_gen_95: int | None
    """First epoch with test accuracy ≥ 95 %."""
    t_mem_95_sustained: int | None
    """Epoch from which train accuracy stayed ≥ 95 %."""
    t_gen_95_sustained: int | None
    """Epoch from which test accuracy stayed ≥ 95 %."""
    seconds_to_grok: float | None
    """Wall seconds spent on the run up to t_grok; None when it never grokked or seconds were not logged."""

    @property
    def tau_grok(self) -> float | None:
        """τ_grok = t_gen / t_mem at 95 %, as in grokking tickets; None when either is missing or t_mem is 0."""
        if self.t_gen_95 is None or not self.t_mem_95:
            return None
        from ..theory import grokking_ratio  # imports PyTorch: not before a ratio is asked for

        return float(grokking_ratio(self.t_gen_95, self.t_mem_95))

    def to_dict(self) -> dict[str, int | float | None]:
        """All of it as one row of a table of runs."""
        return {**asdict(self), "tau_grok": self.tau_grok}


def run_times(metrics: Metrics, window: int = WINDOW) -> Times:
    """Times of one run from its metric table."""
    epoch = np.asarray(metrics["epoch"])
    train_99, test_99, train_95, test_95 = (
        crossing(epoch, metrics[f"{split}_accuracy"], threshold, window)
        for threshold in (0.99, 0.95)
        for split in ("train", "test")
    )
    seconds = None
    if test_99.first is not None and "seconds" in metrics:
        seconds = float(np.asarray(metrics["seconds"])[np.searchsorted(epoch, test_99.first)])
    return Times(
        last_epoch=int(epoch[-1]) if len(epoch) else None,
        t_mem=train_99.first,
        t_grok=test_99.first,
        t_mem_sustained=train_99.sustained,
        t_grok_sustained=test_99.sustained,
        t_mem_95=train_95.first,
        t_gen_95=test_95.first,
        t_mem_95_sustained=train_95.sustained,
        t_gen_95_sustained=test_95.sustained,
        seconds_to_grok=seconds,
    )
