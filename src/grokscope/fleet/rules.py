"""When a lane retires. The rules read logged rows; the loop itself knows no metric."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..thresholds import reaches

if TYPE_CHECKING:
    from ..config import RunConfig

Row = dict[str, float]

GROKKED = 0.99
"""Test accuracy from which a run that has no stop rule is called grokked when its last epoch is trained."""


class Rules:
    """The stop rules of one run, and what they have to remember.

    A run is grokked by the clock "held" of `analysis.Criterion`, with the accuracy and the window of `stop`: it retires at
    the evaluation that fills the window.
    """

    def __init__(self, config: RunConfig, held_since: int | None = None):
        self.config = config
        self.held_since = held_since
        """First evaluation since which test accuracy has stayed at or above the stop rule's."""

    def judge(self, row: Row) -> str | None:
        """grokked, diverged or done when the run is finished; None when it continues."""
        epoch, stop = int(row["epoch"]), self.config.stop
        if not math.isfinite(row["train_loss"]):
            return "diverged"
        if not reaches(row["test_accuracy"], stop.accuracy or GROKKED):
            self.held_since = None
        elif self.held_since is None:
            self.held_since = epoch
        held = self.held_since is not None and epoch - self.held_since >= stop.window
        if epoch >= self.config.epochs:
            # The window cannot be filled any more: two evaluations have to agree, as for every held time.
            return "grokked" if held or (self.held_since is not None and self.held_since < epoch) else "done"
        return "grokked" if held and stop.accuracy > 0 else None
