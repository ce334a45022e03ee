"""Names of the positions of a run's sequences. Reading the settings imports PyTorch, so it is done in a thread of its own."""

from __future__ import annotations

from threading import Lock, Thread
from typing import NamedTuple

from ..errors import GrokscopeError
from ..store import RunInfo


class Positions(NamedTuple):
    """Empty where the settings of a run cannot be read, or say nothing of its positions."""

    names: list[str]
    """Of the last positions; empty if only their numbers are known."""
    informative: list[int]
    """Which of them decide the answer."""


class PositionNames:
    """Names by run; None until they are known."""

    def __init__(self) -> None:
        self._known: dict[str, Positions | None] = {}
        self._guard = Lock()

    def __call__(self, run: RunInfo) -> Positions | None:
        with self._guard:
            if run.id not in self._known:
                self._known[run.id] = None
                Thread(target=self.read, args=(run,), daemon=True).start()
            return self._known[run.id]

    def read(self, run: RunInfo) -> None:
        found = Positions([], [])
        try:
            from ..config.watched import informative_positions, is_watched
            from ..report.settings import position_names, read_settings

            (config,) = read_settings([run]).configs
            if config:
                found = Positions(*position_names(config))
            elif is_watched(run.config):
                found = Positions([], informative_positions(run.config))
        except (GrokscopeError, ImportError):
            pass  # the page then counts positions
        finally:
            self._known[run.id] = found
