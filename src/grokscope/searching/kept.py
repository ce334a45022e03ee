"""Candidates that a search keeps in memory between rungs, up to a limit: beyond it, the checkpoints of the worst are given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..ops.memory import free_memory

if TYPE_CHECKING:
    from ..launch.memory import MemoryRun
    from .candidates import Standing, Units

SHARE = 0.25
"""Of the free memory of the machine, for the candidates of one search."""


class Kept:
    """Runs in memory by their support."""

    def __init__(self, limit: int | None = None):
        """limit   bytes; None is a share of what is free"""
        self.limit = int(SHARE * free_memory(torch.device("cpu"))) if limit is None else limit
        self.runs: dict[Units, MemoryRun] = {}
        self._standings: dict[Units, Standing] = {}
        self._sizes: dict[Units, int] = {}
        self._size = 0

    def add(self, standing: Standing, run: MemoryRun) -> None:
        """Keep a run that has reached a rung. A candidate that is given up and yet survives is trained again."""
        units = standing.units
        self._size += run.nbytes - self._sizes.get(units, 0)
        self.runs[units], self._standings[units], self._sizes[units] = run, standing, run.nbytes
        while self._size > self.limit:
            self.drop(max(self._standings, key=lambda one: (self._standings[one].loss, len(one), one)))

    def drop(self, units: Units) -> None:
        """Forget a run, if it is kept, and free its memory, whoever else holds it."""
        if (run := self.runs.pop(units, None)) is not None:
            run.release()
            del self._standings[units]
            self._size -= self._sizes.pop(units)
