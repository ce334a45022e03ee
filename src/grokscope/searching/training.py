"""How the candidates of searches are trained: as stored runs, or in memory."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..launch.local import train_all, train_in_memory

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..launch.memory import MemoryRun
    from ..store import RunInfo

Train = Callable[[Sequence["RunConfig"], Sequence[str]], "list[RunInfo]"]
"""Trains configs, given with the names of their conditions, and returns the stored runs."""

InMemory = Callable[[Sequence["MemoryRun"], Sequence[str]], None]
"""Trains runs in memory, given with the names of their conditions; no two of the same run."""


class StoppedError(Exception):
    """Training was interrupted; the same search continues."""


@dataclass(frozen=True)
class Trainer:
    """Trains candidates."""

    stored: Train
    memory: InMemory | None = None
    """None where training is not in this process: candidates are then stored from the start."""


def local_trainer(runs: str | Path, device: str, lanes: int | None = None) -> Trainer:
    """Training in this process, without a display."""

    def stored(configs: Sequence[RunConfig], names: Sequence[str]) -> list[RunInfo]:
        return train_all(configs, runs=runs, device=device, lanes=lanes, notify=quiet_rungs)

    def memory(own: Sequence[MemoryRun], names: Sequence[str]) -> None:
        train_in_memory(own, device=device, lanes=lanes, fit_only=True)

    return Trainer(stored, memory)


def quiet_stages(line: str) -> None:
    """Print what differs from the request, except that runs are continued or were trained further, as in every race."""
    if not any(word in line for word in ("now continued to epoch", "trained further than requested")):
        print(line, file=sys.stderr)


def quiet_rungs(line: str) -> None:
    """The same for the candidates of a search, of which fewer train side by side at every rung."""
    if not re.search(r"continued with lanes \d+ instead of \d+;", line):
        quiet_stages(line)
