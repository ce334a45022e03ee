"""When a lane retires. The stop rule reads logged rows; the loop itself knows no metric."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..thresholds import reaches

if TYPE_CHECKING:
    from ..config import RunConfig

Row = dict[str, float]

GROKKED = 0.99
"""Test accuracy at which a run without a stop rule counts as grokked at its last epoch."""


def judged_accuracy(row: Row) -> float:
    """The accuracy that decides when a run stops: on validation examples where some are set aside, so that test examples decide
    nothing."""
    held_out = row.get("val_accuracy")
    return row["test_accuracy"] if held_out is None else held_out


class StopRule:
    """The stop rule of one run, and its state.

    A run is grokked by the clock "held" of `analysis.Criterion`, with the accuracy and the window of `stop`: it retires at
    the evaluation that fills the window, or with `stop.extend` a window as long as the epochs before it times that factor.
    """

    def __init__(self, config: RunConfig, held_since: int | None = None):
        self.config = config
        self.held_since = held_since
        """First evaluation since which the judged accuracy has stayed at or above that of the stop rule."""

    def status_of(self, row: Row) -> str | None:
        """ "grokked", "diverged" or "done" if the run is finished; None if it continues."""
        epoch, stop = int(row["epoch"]), self.config.stop
        if not math.isfinite(row["train_loss"]):
            return "diverged"
        if not reaches(judged_accuracy(row), stop.accuracy or GROKKED):
            self.held_since = None
        elif self.held_since is None:
            self.held_since = epoch
        held = self.held_since is not None and epoch - self.held_since >= stop.required(self.held_since)
        if epoch >= self.config.epochs:
            # The window can no longer be filled: two evaluations have to agree, as for every held time.
            return "grokked" if held or (self.held_since is not None and self.held_since < epoch) else "done"
        return "grokked" if held and stop.accuracy > 0 else None
