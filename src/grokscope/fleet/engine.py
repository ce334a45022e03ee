"""The loop: fill lanes, step, evaluate, retire, refill, save. It knows neither metrics nor disk paths."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import torch

from ..errors import StoreError
from .data import lane_data
from .program import Program
from .rules import Row, Rules

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..tickets import Origin


class Sink(Protocol):
    """Where a run's results go; the store offers one."""

    def resume(self) -> tuple[int, dict[str, Any], dict[str, Tensor]] | None:
        """Epoch, metadata and tensors of the last save, if any."""

    def save(
        self,
        *,
        epoch: int,
        rows: list[Row],
        tensors: dict[str, Tensor],
        metadata: dict[str, Any],
        status: str,
        keep: bool,
    ) -> None:
        """All that was measured since the last save, and the state to go on from."""

    def close(self) -> None:
        """Nothing more will come."""


@dataclass(kw_only=True)
class Job:
    """A run that wants to be trained."""

    config: RunConfig
    sink: Sink
    origin: Callable[[], Origin] | None = None
    """Gives the run that the ticket comes from."""
    target: Callable[[], Tensor] | None = None
    """Gives the prior's target on the training set where the prior cannot know it (a teacher's attention)."""


@dataclass(kw_only=True)
class Lane:
    """A job in training."""

    job: Job
    rules: Rules
    epoch: int = 0
    next_due: int = 0
    seconds: float = 0.0
    rows: list[Row] = field(default_factory=list)
    """Measured, not yet saved."""
    last: Row = field(default_factory=dict)
    status: str = "running"


class Progress(Protocol):
    """Told about every lane now and then."""

    def update(self, lanes: list[Lane], waiting: int) -> None: ...


class Fleet:
    """Trains jobs of one signature, at most `lanes` at a time."""

    def __init__(
        self,
        jobs: Iterable[Job],
        *,
        lanes: int,
        device: torch.device,
        progress: Progress | None = None,
        interrupted: Callable[[], bool] = lambda: False,
        save_every: float = 20.0,
        fewest: int = 1,
    ):
        self.waiting = list(jobs)
        self.fewest = fewest
        """Never fewer lanes than this, idle or not. On a CPU two or more lanes give the same bits however many they are,
        one lane alone other bits: a fleet of several that goes on with its last run keeps two."""
        self.limit = max(min(lanes, len(self.waiting)), fewest)
        self.device = device
        self.progress = progress
        self.interrupted = interrupted
        self.save_every = save_every
        """Seconds between saves of all lanes."""
        self.lanes: list[Lane | None] = []
        self.program: Program | None = None
        self.run_steps = 0
        """Optimizer steps taken, summed over runs."""
        self.busy = [0, 0]
        """Lane-epochs used and offered."""

    def run(self) -> None:
        """Train until every job is over, or until interrupted; then everything is saved."""
        saved_at = time.monotonic()
        try:
            self._fill()
            while self._active():
                if self._advance():
                    self._save_all("stopped")
                    return
                if time.monotonic() - saved_at > self.save_every:
                    self._save_all("running")
                    saved_at = time.monotonic()
                self._fill()
        except StoreError:
            # one run's folder failed (locked, damaged, disk full): keep what the others have
            self._save_all("stopped", whatever_happens=True)
            raise
        finally:
            for job in [lane.job for lane in self._active()] + self.waiting:
                job.sink.close()

    def _occupied(self) -> list[tuple[int, Lane]]:
        return [(place, lane) for place, lane in enumerate(self.lanes) if lane is not None]

    def _active(self) -> list[Lane]:
        return [lane for _, lane in self._occupied()]

    def _advance(self) -> bool:
        """Train to the next evaluation and evaluate; True when interrupted on the way."""
        assert self.program is not None
        active = self._active()
        begin = time.perf_counter()
        epochs = min(lane.next_due - lane.epoch for lane in active)
        for _ in range(epochs):
            if self.interrupted():
                return True
            self.program.train_epoch()
            for lane in active:
                lane.epoch += 1
        self.program.finish()
        spent = time.perf_counter() - begin
        steps = epochs * self.program.config.steps_per_epoch
        self.run_steps += steps * len(active)
        self.busy[0] += epochs * len(active)
        self.busy[1] += epochs * len(self.lanes)
        table = self.program.evaluate()
        elapsed = time.perf_counter() - begin
        for place, lane in self._occupied():
            lane.seconds += elapsed
            if lane.epoch != lane.next_due:
                continue
            per_step = spent / (steps * len(active)) if steps else float("nan")
            row = {"epoch": lane.epoch, "seconds": lane.seconds, "seconds_per_step": per_step}
            lane.last = row | {name: values[place] for name, values in table.items()}
            lane.rows.append(lane.last)
            lane.next_due = min(lane.job.config.log.next_after(lane.epoch), lane.job.config.epochs)
            if (status := lane.rules.judge(lane.last)) is not None:
                self._retire(place, lane, status)
            elif (keep := lane.job.config.log.keep) and lane.epoch and lane.epoch % keep == 0:
                self._save(place, lane, "running", keep=True)
        if self.progress:
            self.progress.update(active, len(self.waiting))
        return False

    def _fill(self) -> None:
        """Waiting runs take the free lanes; when none waits, the fleet closes ranks."""
        self._close_ranks()
        for place in range(self.limit):
            while self.waiting and (place >= len(self.lanes) or self.lanes[place] is None):
                job = self.waiting.pop(0)
                if self.program is None:
                    self.program = Program(job.config, self.limit, self.device)
                    self.lanes = [None] * self.limit
                saved = job.sink.resume()
                self._load(self.program, place, job, saved)

    def _load(
        self, program: Program, place: int, job: Job, saved: tuple[int, dict[str, Any], dict[str, Tensor]] | None
    ) -> None:
        lane = Lane(job=job, rules=Rules(job.config))
        if saved is not None:
            lane.epoch, metadata, _ = saved
            lane.rules.held_since, lane.seconds = metadata["held_since"], metadata["seconds"]
            lane.next_due = min(job.config.log.next_after(lane.epoch), job.config.epochs)
        data = lane_data(job.config, job.target() if job.target else None)
        origin = job.origin() if job.origin and saved is None else None
        program.load(place, job.config, data, saved[2] if saved else None, origin)
        self.lanes[place] = lane

    def _close_ranks(self) -> None:
        """A smaller program for the lanes that are left: idle lanes cost as much as busy ones."""
        occupied = [place for place, _ in self._occupied()]
        idle = [place for place in range(len(self.lanes)) if place not in occupied]
        keep = sorted(occupied + idle[: max(self.fewest - len(occupied), 0)])
        worth_it = len(keep) < len(self.lanes) * (1.0 if self.device.type == "cpu" else 0.5)
        if self.program is None or self.waiting or not occupied or not worth_it:
            return
        self.program = self.program.narrow(keep)
        self.lanes = [self.lanes[place] for place in keep]
        self.limit = len(keep)

    def _retire(self, place: int, lane: Lane, status: str) -> None:
        lane.status = status
        self._save(place, lane, status)
        lane.job.sink.close()
        self.lanes[place] = None

    def _save_all(self, status: str, whatever_happens: bool = False) -> None:
        for place, lane in self._occupied():
            lane.status = status
            with suppress(*[StoreError] if whatever_happens else []):
                self._save(place, lane, status)

    def _save(self, place: int, lane: Lane, status: str, keep: bool = False) -> None:
        assert self.program is not None
        metadata = {"held_since": lane.rules.held_since, "seconds": lane.seconds}
        lane.job.sink.save(
            epoch=lane.epoch,
            rows=lane.rows,
            tensors=self.program.unload(place),
            metadata=metadata,
            status=status,
            keep=keep,
        )
        lane.rows = []
