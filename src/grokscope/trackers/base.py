"""What a tracker is, and how one is opened by name."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..errors import ConfigError
from ..registry import Registry

Row = Mapping[str, float]


class Tracker(Protocol):
    """Receives the rows of one run."""

    def log(self, row: Row) -> None:
        """One evaluation; "epoch" is its step."""

    def finish(self) -> None:
        """No more rows follow."""


trackers: Registry[Callable[[str, Mapping[str, Any]], Tracker]] = Registry("tracker", "grokscope.trackers")
"""Functions from the name and the settings of a run to its tracker."""


def open_tracker(kind: Any, name: str, config: Mapping[str, Any]) -> Tracker:
    """The tracker of one run.

    kind   the name of a tracker, a function from name and settings to one, or an object with `log` and `finish`
    """
    if isinstance(kind, str):
        return trackers.get(kind)(name, config)
    if not hasattr(kind, "log") and callable(kind):
        kind = kind(name, config)
    if not (callable(getattr(kind, "log", None)) and callable(getattr(kind, "finish", None))):
        raise ConfigError("track", f"{type(kind).__name__} has no log(row) and finish()")
    tracker: Tracker = kind
    return tracker


def check_trackers(kinds: Sequence[Any]) -> None:
    """Raise ConfigError for a tracker that does not exist or whose package is not installed, before anything is trained."""
    for kind in kinds:
        if not isinstance(kind, str):
            if hasattr(kind, "log") or not callable(kind):
                open_tracker(kind, "", {})
        elif trackers.get(kind).__module__.startswith("grokscope."):
            imported(kind, kind)


class Trackers:
    """All trackers of one run. One that fails is dropped with a line on stderr: training goes on."""

    def __init__(self, kinds: Sequence[Any], name: str, config: Mapping[str, Any]):
        self.name = name
        self.open = [open_tracker(kind, name, config) for kind in kinds]

    def log(self, row: Row) -> None:
        self._each(lambda tracker: tracker.log(row))

    def finish(self) -> None:
        self._each(lambda tracker: tracker.finish())
        self.open = []

    def _each(self, call: Callable[[Tracker], None]) -> None:
        for tracker in tuple(self.open):
            try:
                call(tracker)
            except Exception as error:  # a full disk, a lost connection
                self.open.remove(tracker)
                text = " ".join(str(error).split())
                print(f"run {self.name}: {type(tracker).__name__} failed and is dropped: {text}", file=sys.stderr)


def imported(module: str, extra: str) -> Any:
    """An optional package; ConfigError with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ConfigError("track", f"{extra} is not installed: pip install 'grokscope[{extra}]'") from None


def finite(row: Row) -> dict[str, float]:
    """The columns of a row that have a number, without its step."""
    return {name: value for name, value in row.items() if name != "epoch" and math.isfinite(value)}
