"""One run as it is now: followed on disk, with its speed and its phases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..analysis import DEFAULT
from ..analysis.phases import Phases, find_phases
from ..store import Columns, Follower, RunInfo
from .panels import is_read

RECENT = 20
"""Rows from which the speed of a run is found."""


class LiveRun:
    """One run: its description, its rows, and what follows from them."""

    def __init__(self, path: Path):
        self.follower = Follower(path, is_read)
        self.settings: dict[str, Any] = {}
        """By dotted name."""
        self.condition = ""
        """What distinguishes it from the other runs, seed aside."""
        self.differs = ""
        """The settings behind the condition's short name."""
        self.phases: Phases | None = None
        self.phases_of = -1
        """Version of the rows that the phases were found from."""
        self._config: object = None

    @property
    def info(self) -> RunInfo:
        assert self.follower.info is not None
        return self.follower.info

    @property
    def columns(self) -> Columns:
        return self.follower.columns

    @property
    def version(self) -> int:
        return self.follower.version + self.phases_of

    def last(self, metric: str) -> float | None:
        """The value in the last row."""
        values = self.columns.get(metric)
        return float(values[-1]) if values is not None and len(values) and np.isfinite(values[-1]) else None

    @property
    def epoch(self) -> int:
        """Epoch of the last row, which may lie after the newest checkpoint."""
        return int(self.last("epoch") or 0)

    @property
    def epochs(self) -> int | None:
        """Epoch at which it will end; None for a watched run, which does not say."""
        epochs = self.info.config.get("epochs")
        return epochs if isinstance(epochs, int) else None

    @property
    def speed(self) -> float | None:
        """Epochs per second over its last rows; None unless it is training."""
        if self.info.status != "running" or "seconds" not in self.columns:
            return None
        epochs, seconds = (self.columns[name][-RECENT:] for name in ("epoch", "seconds"))
        spent = seconds[-1] - seconds[0] if len(seconds) > 1 else 0.0
        return float((epochs[-1] - epochs[0]) / spent) if spent > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds to its last epoch, if it does not end early."""
        speed = self.speed
        return (self.epochs - self.epoch) / speed if speed and self.epochs is not None else None

    @property
    def phase(self) -> str:
        """The phase at its last evaluation."""
        found = self.phases
        if found is None:
            return ""
        if found.t_grok is not None:
            return "grokking"
        if found.t_c is not None and found.plateau is not None:
            return "resurgence"
        if found.plateau is not None:
            return "plateau"
        return "memorisation" if found.t_mem is None else "memorised"

    def config_changed(self) -> bool:
        """Whether the settings are others than at the last call."""
        changed = self._config != self.info.config
        self._config = self.info.config
        return changed

    def find_phases(self) -> None:
        self.phases_of = self.follower.version
        columns = self.columns
        self.phases = None
        if len(columns["epoch"]) and {"train_accuracy", "test_accuracy"} <= columns.keys():
            self.phases = find_phases(pd.DataFrame(columns), DEFAULT)
