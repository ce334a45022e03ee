"""Progress of runs that other processes train, read from the store: how many are finished, how fast, how long they will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ..config import RunConfig
from ..errors import StoreError
from ..store import FINISHED, read_run

EVERY = 10.0
"""Seconds between two lines."""


class Overview(NamedTuple):
    """Counts of runs, and their epochs."""

    finished: int
    training: int
    waiting: int
    epochs: int
    """Epochs that were trained, summed over runs."""
    wanted: int
    """Last epochs, summed over runs; a run that finished early counts with what it took."""


def overview(wanted: Mapping[str, RunConfig], runs: Path, finished: dict[str, int]) -> Overview:
    """Counts over the wanted runs, as of their last saves.

    finished   last epochs of runs that are known to be finished, which are not read again; more are added
    """
    training = epochs = 0
    for id in wanted.keys() - finished.keys():
        path = runs / id
        try:
            run = read_run(path) if path.exists() else None
        except StoreError:
            run = None
        if run is not None and run.status in FINISHED:
            finished[id] = run.epoch
        elif run is not None:
            epochs += run.epoch
            training += run.status == "running"
    done = sum(finished[id] for id in finished.keys() & wanted.keys())
    left = sum(wanted[id].epochs for id in wanted.keys() - finished.keys())
    waiting = len(wanted) - len(finished) - training
    return Overview(len(finished), training, waiting, epochs + done, left + done)


class Watch:
    """Prints one line every few seconds."""

    def __init__(self, wanted: Mapping[str, RunConfig], runs: Path, notify: Callable[[str], None] | None):
        self.wanted, self.runs, self.notify = wanted, runs, notify
        self.begin = self.last = time.monotonic()
        self.pause = EVERY
        self.first: Overview | None = None
        self.finished: dict[str, int] = {}

    def update(self) -> None:
        now = time.monotonic()
        if self.notify is None or now - self.last < self.pause:
            return
        self.last = now
        current = overview(self.wanted, self.runs, self.finished)
        self.pause = max(EVERY, 10 * (time.monotonic() - now))
        if self.first is None:
            self.first, self.begin = current, now
        parts = [f"{current.finished} of {len(self.wanted)} runs finished", f"{current.training} training"]
        parts += [f"{current.waiting} waiting"]
        rate = (current.epochs - self.first.epochs) / (now - self.begin) if now > self.begin else 0.0
        if rate > 0:
            parts += [f"{rate:,.0f} epochs/s", f"at most {clock((current.wanted - current.epochs) / rate)} left"]
        self.notify(", ".join(parts))


def clock(seconds: float) -> str:
    """`1:05:09`"""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
