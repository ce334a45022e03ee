"""When a lane retires. The rules read logged rows; the loop itself knows no metric."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config import RunConfig

Row = dict[str, float]


class Rules:
    """The stop rules of one run, and the little they must remember."""

    def __init__(self, config: RunConfig, held_since: int | None = None):
        self.config = config
        self.held_since = held_since
        """First evaluation since which test accuracy has stayed at the stop rule's level."""

    def judge(self, row: Row) -> str | None:
        """grokked, diverged or done when the run is over; None when it goes on."""
        epoch, stop = int(row["epoch"]), self.config.stop
        if not math.isfinite(row["train_loss"]):
            return "diverged"
        if row["test_accuracy"] >= (stop.accuracy or 0.99):
            self.held_since = epoch if self.held_since is None else self.held_since
        else:
            self.held_since = None
        held = self.held_since is not None and epoch - self.held_since >= stop.window
        if epoch >= self.config.epochs:
            return "grokked" if self.held_since is not None else "done"
        return "grokked" if held and stop.accuracy > 0 else None
