"""The runs of a folder as they are now."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock, RLock
from typing import Any

from ..conditions import Arms, arms_of
from ..errors import GrokscopeError, StoreError
from ..settings import flatten
from ..store import run_folders
from .run import LiveRun

PHASE_BUDGET = 0.1
"""Most seconds per poll that are spent on finding phases; the runs that waited longest come first."""


class Board:
    """All runs of a folder. Readers hold `lock`."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.lock = RLock()
        self._polling = Lock()
        self.runs: dict[str, LiveRun] = {}
        self.unread = 0
        """Runs that were found and are still to be read."""
        self.version = 0
        self.settings_version = 0
        """Raised when runs come, go or change their settings."""
        self.polled = False
        """Whether all runs have been read once."""
        self.problem = ""
        """Why the folder cannot be read."""

    def poll(self) -> None:
        """Read what is new, in short steps: readers may look between them."""
        with self._polling:
            self._poll()

    def _poll(self) -> None:
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
            new = {id: None for id in paths if id not in self.runs}
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
                self.settings_version += 1
            self.polled = True
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
            arms = arms_of([run.info.config for run in runs])
        except GrokscopeError:
            arms = Arms(names=["all runs"] * len(runs), settings={"all runs": {}}, pooled=[])
        for run in self.runs.values():
            run.settings, run.condition, run.differs = _flat(run.info.config), "", ""
        for run, name in zip(runs, arms.names, strict=True):
            run.condition = name
            run.differs = ", ".join(f"{setting} = {value}" for setting, value in arms.settings[name].items())

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
