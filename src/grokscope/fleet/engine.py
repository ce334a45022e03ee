"""The loop: fill lanes, step, evaluate, retire, refill, save. It knows neither metrics nor disk paths."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch

from ..errors import StoreError
from .data import Batch, lane_data
from .guard import check_global_states, global_states, no_randomness_at_start
from .io_pool import IOPool
from .program import Program
from .rules import Row, Rules
from .stats import TrainingStats

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..tickets import Origin


_SAVING = 0.05
"""Share of the time that may go into saves of all lanes."""


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
    origin: Callable[[], Origin | None] | None = None
    """Gives the run that the ticket comes from."""
    target: Callable[[], Tensor | None] | None = None
    """Gives the prior's target on the training set where the prior cannot know it (a teacher's attention)."""


class Prepared(NamedTuple):
    """All that a lane needs of its run."""

    saved: tuple[int, dict[str, Any], dict[str, Tensor]] | None
    data: tuple[Batch, Batch]
    origin: Origin | None


def _prepare(job: Job) -> Prepared:
    saved = job.sink.resume()
    with no_randomness_at_start():
        data = lane_data(job.config, job.target() if job.target else None)
    return Prepared(saved, data, job.origin() if job.origin and saved is None else None)


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
    saving: Future[None] | None = None
    """The last save."""

    @property
    def phase(self) -> int:
        """Epochs since the last regular evaluation."""
        return self.epoch % self.job.config.log.every


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
        beside: Callable[[], int] = lambda: 1,
        io_threads: int = 0,
    ):
        self.waiting = jobs if isinstance(jobs, deque) else deque(jobs)
        """Jobs to come; several fleets may draw from one queue."""
        self.limit = min(lanes, len(self.waiting))
        """Lanes at most. One at a time may be of any signature: each has a program of its own."""
        self.device = device
        self.progress = progress
        self.interrupted = interrupted
        self.save_every = save_every
        """Seconds between saves of all lanes, or more where saving takes long."""
        self.beside = beside
        """How many fleets, this one included, share the device now: a run-step has that share of the time."""
        self.io_pool = IOPool(io_threads)
        """Who opens runs ahead of need and saves while the device trains on."""
        self.ahead: deque[tuple[Job, Future[Prepared]]] = deque()
        """Runs that are being prepared."""
        self.unsaved: list[Future[None]] = []
        """Saves that are not known to have worked."""
        self.lanes: list[Lane | None] = []
        self.program: Program | None = None
        self.stats = TrainingStats()
        self.idle_steps = 0.0
        """Steps of idle lanes, as a share of all lanes, since the program was made: counted in steps and not in seconds, so that
        the same command makes the same programs."""

    def run(self) -> None:
        """Train until every job is over, or until interrupted; then everything is saved.

        When memory runs out, the runs in training are waiting again and go on from their last save.
        """
        begin: float | None = None
        saved_at, pause = time.monotonic(), self.save_every
        try:
            self._fill()
            while self._active():
                if self._advance():
                    self._save_all("stopped")
                    break
                now = time.monotonic()
                if begin is None and now - saved_at > pause:
                    begin = now
                    self._save_all("running")
                if self._saved() and begin is not None:
                    saved_at = time.monotonic()
                    pause = max(self.save_every, (saved_at - begin) / _SAVING)
                    begin = None
                self._fill()
            self._saved(wait=True)
        except StoreError:
            # one run's folder failed (locked, damaged, disk full): keep what the others have
            self._save_all("stopped", whatever_happens=True)
            raise
        except torch.OutOfMemoryError:
            active, self.lanes = self._active(), []
            self._leave([lane.job for lane in active])
            raise
        finally:
            self._leave([job for job, _ in self.ahead])
            for lane in self._active():
                lane.job.sink.close()
            self._part_from_program()

    def _leave(self, jobs: list[Job]) -> None:
        """To be trained by another fleet, or another time."""
        for _, prepared in self.ahead:
            prepared.cancel()
        self.io_pool.close()  # nobody closes a run that is being opened or saved
        for job in reversed(jobs):
            job.sink.close()
            self.waiting.appendleft(job)

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
        generators = global_states()
        for _ in range(epochs):
            if self.interrupted():
                return True
            self.program.train_epoch()
            for lane in active:
                lane.epoch += 1
        self.program.finish()
        spent = time.perf_counter() - begin
        steps = epochs * self.program.config.steps_per_epoch
        self.stats += TrainingStats(run_steps=steps * len(active), lane_steps=steps * len(self.lanes))
        self.idle_steps += steps * (1 - len(active) / len(self.lanes))
        table = self.program.evaluate()
        check_global_states(generators)
        elapsed = time.perf_counter() - begin
        for place, lane in self._occupied():
            lane.seconds += elapsed
            if lane.epoch != lane.next_due:
                continue
            per_step = spent / (steps * len(active) * self.beside()) if steps else float("nan")
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
            while (place >= len(self.lanes) or self.lanes[place] is None) and self._look_ahead(1):
                if not self._load(place, *self.ahead.popleft()):
                    return
        self._look_ahead(0)

    def _look_ahead(self, needed: int) -> bool:
        """Have runs prepared, as many as there are io_threads or as are needed; True if there is one."""
        while self.waiting and len(self.ahead) < max(self.io_pool.io_threads, needed):
            with suppress(IndexError):  # another fleet was quicker
                job = self.waiting.popleft()
                self.ahead.append((job, self.io_pool.submit(partial(_prepare, job))))
        return bool(self.ahead)

    def _load(self, place: int, job: Job, prepared: Future[Prepared]) -> bool:
        """Put a job into a lane, unless it should wait for the first evaluation of the others."""
        try:
            saved, data, origin = prepared.result()
            lane = Lane(job=job, rules=Rules(job.config))
            if saved is not None:
                lane.epoch, metadata, _ = saved
                lane.rules.held_since, lane.seconds = metadata["held_since"], metadata["seconds"]
                lane.next_due = min(job.config.log.next_after(lane.epoch), job.config.epochs)
            if not self.stats.lane_steps and any(other.phase != lane.phase for other in self._active()):
                # beside runs that stopped between evaluations it would be due at other times for ever
                self.ahead.appendleft((job, prepared))
                return False
            if self.program is None or self.limit == 1:
                self.program = Program(job.config, self.limit, self.device)
                self.lanes = [None] * self.limit
            with no_randomness_at_start():
                self.program.load(place, job.config, data, saved[2] if saved else None, origin)
        except BaseException as error:
            job.sink.close()
            if isinstance(error, torch.OutOfMemoryError):
                self.waiting.appendleft(job)
            raise
        self.lanes[place] = lane
        return True

    def _close_ranks(self) -> None:
        """A smaller program for the lanes that are left, when idle lanes have cost as much as it would."""
        occupied = [place for place, _ in self._occupied()]
        idle = [place for place in range(len(self.lanes)) if place not in occupied]
        if self.program is None or self.waiting or self.ahead or not occupied or not idle:
            return
        if self.idle_steps < _patience(len(self.lanes)):
            return
        smaller = self.program.narrow(occupied)
        self._part_from_program()
        self.program = smaller
        self.lanes = [self.lanes[place] for place in occupied]
        self.limit = len(occupied)
        self.idle_steps = 0.0

    def _part_from_program(self) -> None:
        if self.program is not None:
            self.program.close()
        self.program = None

    def _retire(self, place: int, lane: Lane, status: str) -> None:
        lane.status = status
        self._save(place, lane, status)
        self.lanes[place] = None

    def _save_all(self, status: str, whatever_happens: bool = False) -> None:
        for place, lane in self._occupied():
            lane.status = status
            with suppress(*[StoreError] if whatever_happens else []):
                self._save(place, lane, status)
                if whatever_happens and lane.saving:
                    lane.saving.result()

    def _save(self, place: int, lane: Lane, status: str, keep: bool = False) -> None:
        assert self.program is not None
        if lane.saving is not None:
            lane.saving.result()  # one after another
        metadata = {"held_since": lane.rules.held_since, "seconds": lane.seconds}
        state = {"epoch": lane.epoch, "rows": lane.rows, "tensors": self.program.unload(place), "metadata": metadata}
        lane.saving = self.io_pool.submit(partial(_write, lane.job.sink, state | {"status": status, "keep": keep}))
        self.unsaved.append(lane.saving)
        if lane.saving.done():
            lane.saving.result()
        lane.rows = []

    def _saved(self, wait: bool = False) -> bool:
        """Whether all that was handed in is on disk; raises what went wrong."""
        done = {save for save in self.unsaved if wait or save.done()}
        self.unsaved = [save for save in self.unsaved if save not in done]
        for save in done:
            save.result()
        return not self.unsaved


def _patience(lanes: int) -> float:
    """Idle steps after which a smaller program pays: about as many as take the time of recording one, a tenth of a second."""
    return 200 / (1 + lanes / 50)


def _write(sink: Sink, state: dict[str, Any]) -> None:
    try:
        sink.save(**state)
    finally:
        if state["status"] not in ("running", "stopped"):  # the run is over
            sink.close()
