"""The runs of a folder as they are now: followed on disk, with what is derived from their rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import pandas as pd

from ..analysis import DEFAULT
from ..analysis.phases import Phases, find_phases
from ..describe import differences
from ..errors import GrokscopeError, StoreError
from ..settings import flatten
from ..store import Columns, Follower, RunInfo, run_folders
from .panels import is_read

RECENT = 20
"""Rows from which the speed of a run is found."""
PHASE_BUDGET = 0.1
"""Most seconds per poll that are spent on finding phases; the runs that waited longest come first."""


class LiveRun:
    """One run: its description, its rows, and what follows from them."""

    def __init__(self, path: Path):
        self.follower = Follower(path, is_read)
        self.settings: dict[str, Any] = {}
        """By dotted name."""
        self.condition = ""
        """What distinguishes it from the other runs, seed aside."""
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


class Board:
    """All runs of a folder. `poll` is called by one thread; readers hold `lock`."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.lock = RLock()
        self.runs: dict[str, LiveRun] = {}
        self.unread = 0
        """Runs that were found and are still to be read."""
        self.version = 0
        self.problem = ""
        """Why the folder cannot be read."""

    def poll(self) -> None:
        """Read what is new, in short steps: readers may look between them."""
        try:
            paths = {path.name: path for path in run_folders(self.folder)}
            problem = ""
        except StoreError as error:
            paths, problem = {}, str(error)
        with self.lock:
            if problem != self.problem:
                self.problem, self.version = problem, self.version + 1
            gone = [id for id in self.runs if id not in paths]
            for id in gone:
                del self.runs[id]
            self.version += bool(gone)
            new = [id for id in paths if id not in self.runs]
            self.unread = len(new)
            reordered = bool(gone)
        for id in [*self.runs, *new]:
            with self.lock:
                reordered |= self._poll_run(id, paths[id])
                self.unread -= id in new
        with self.lock:
            if reordered:
                self._name_conditions()
                self.version += 1
        self._find_phases()

    def _poll_run(self, id: str, path: Path) -> bool:
        """Whether the set of runs or their settings changed."""
        run = self.runs.get(id) or LiveRun(path)
        changed = run.follower.poll()
        if run.follower.info is None:
            return self.runs.pop(id, None) is not None
        new = id not in self.runs
        self.runs[id] = run
        self.version += changed
        return run.config_changed() or new

    def _name_conditions(self) -> None:
        runs = [run for run in self.runs.values() if run.info.config]
        try:
            names = differences([run.info.config for run in runs])
        except GrokscopeError:
            names = ["all runs"] * len(runs)
        for run in self.runs.values():
            run.settings, run.condition = _flat(run.info.config), ""
        for run, name in zip(runs, names, strict=True):
            run.condition = name

    def _find_phases(self) -> None:
        begin = time.monotonic()
        for run in list(self._without_phases()):
            with self.lock:
                run.find_phases()
                self.version += 1
            if time.monotonic() - begin > PHASE_BUDGET:
                break

    def _without_phases(self) -> Iterator[LiveRun]:
        waiting = [run for run in self.runs.values() if run.phases_of != run.follower.version]
        yield from sorted(waiting, key=lambda run: run.phases_of - run.follower.version)


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return flatten(config)
    except GrokscopeError:
        return {}
