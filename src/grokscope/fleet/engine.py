"""The loop: fill lanes, step, evaluate, retire, refill, save. It knows neither metrics nor disk paths."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from ..errors import BusyError, GrokscopeError
from ..ops.memory import is_out_of_memory
from .guard import check_global_states, global_states
from .io_pool import IOPool
from .lane import Failures, FinishedError, Job, Lane, PreparedRun, Progress, Sink, prepare
from .last_run import LastRun
from .program import Program
from .stats import TrainingStats
from .stopping import StopRule

if TYPE_CHECKING:
    from torch import Tensor

_AT_ONCE = 32
"""Steps on a GPU between two looks at whether training is interrupted."""
_SAVING = 0.05
"""Largest fraction of the time spent on saving all lanes."""
_APPENDING = 0.02
"""Largest fraction of the time spent on appending rows for those who watch."""
_APPEND_EVERY = 0.5
"""Minimum number of seconds between appends."""


class Fleet:
    """Trains jobs of one signature, at most `lanes` at a time."""

    def __init__(
        self,
        jobs: Iterable[Job],
        *,
        lanes: int,
        device: torch.device,
        progress: Progress | None = None,
        failures: Failures | None = None,
        interrupted: Callable[[], bool] = lambda: False,
        save_every: float = 20.0,
        fleets: Callable[[], int] = lambda: 1,
        io_threads: int = 0,
        filling: AbstractContextManager[object] | None = None,
        shares: bool = False,
        fit_only: bool = False,
        stay: bool = False,
    ):
        self.waiting = jobs if isinstance(jobs, deque) else deque(jobs)
        """Queue of jobs; several fleets may share it."""
        self.limit = min(lanes, len(self.waiting))
        """Maximum number of lanes. With one lane, jobs may differ in signature: each has its own program."""
        self.device = device
        self.progress = progress
        self.failures = failures
        """Without a receiver, the first failure of a run is raised and ends the others."""
        self.interrupted = interrupted
        self.save_every = save_every
        """Minimum number of seconds between saves of all lanes; longer if saving is slow."""
        self.fleets = fleets
        """Returns the number of fleets, including this one, that share the device: a run-step is charged that share of the time."""
        self.io_pool = IOPool(io_threads)
        """Opens runs ahead of time and saves them while the device trains."""
        self.filling = filling or nullcontext()
        """Entered while the first runs are opened; none is if that returns False."""
        self.shares = shares
        """Whether other fleets take jobs from the same queue: the last ones are opened for free lanes only, since another fleet may
        have one."""
        self.fit_only = fit_only
        """Whether loss and accuracy are all that is measured."""
        self.stay = stay
        """Whether sinks get the tensors of finished runs on the device."""
        self.prefetched: deque[tuple[Job, Future[PreparedRun]]] = deque()
        """Runs that are being opened."""
        self.unsaved: list[Lane] = []
        """Lanes, retired ones too, whose last save is not confirmed yet."""
        self.next_append = 0.0
        """When rows are appended next, by the monotonic clock."""
        self.evicted: list[Job] = []
        """Jobs that returned to the queue because memory ran out."""
        self.lanes: list[Lane | None] = []
        self.program: Program | None = None
        self.last = LastRun()
        """Handed from program to program."""
        self.stats = TrainingStats()
        self.idle_steps = 0.0
        """Steps of idle lanes, as a fraction of all lanes, since the program was built. Counted in steps, not in seconds, so that
        the same command builds the same programs."""

    def run(self) -> None:
        """Train until every job is finished or the fleet is interrupted, and save everything.

        A run that cannot be opened or saved ends alone; the others continue. If memory runs out, the runs in training return to
        the queue and continue from their last save.
        """
        begin: float | None = None
        saved_at, pause = time.monotonic(), self.save_every
        try:
            with self.filling as turn:
                if turn is not False:
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
        except Exception as error:
            if is_out_of_memory(error):
                active, self.lanes = self._active(), []
                self.evicted += [lane.job for lane in active]
                self._requeue([lane.job for lane in active])
            else:  # the code of a task, model, measure … raised
                self._rescue(error)
            raise
        finally:
            self._requeue([job for job, _ in self.prefetched])
            for lane in self._active():
                lane.job.sink.close()
            self._drop_program()

    def _requeue(self, jobs: list[Job]) -> None:
        """Return jobs to the front of the queue, for another fleet or a later call."""
        for _, prepared in self.prefetched:
            prepared.cancel()
        self.io_pool.close()  # no run may be closed while it is being opened or saved
        for job in reversed(jobs):
            job.sink.close()
            self.waiting.appendleft(job)

    def _occupied(self) -> list[tuple[int, Lane]]:
        return [(place, lane) for place, lane in enumerate(self.lanes) if lane is not None]

    def _active(self) -> list[Lane]:
        return [lane for _, lane in self._occupied()]

    def _advance(self) -> bool:
        """Train to the next evaluation and evaluate; True if interrupted."""
        assert self.program is not None
        active = self._active()
        begin = time.perf_counter()
        epochs = min(lane.next_due - lane.epoch for lane in active)
        generators = global_states()
        at_once = max(1, _AT_ONCE // self.program.config.steps_per_epoch) if self.device.type == "cuda" else 1
        for begun in range(0, epochs, at_once):
            if self.interrupted():
                return True
            own = min(at_once, epochs - begun)
            self.program.train_epoch(own)
            for lane in active:
                lane.epoch += own
        self.program.finish()
        spent = time.perf_counter() - begin
        steps = epochs * self.program.config.steps_per_epoch
        self.stats += TrainingStats(run_steps=steps * len(active), lane_steps=steps * len(self.lanes))
        self.idle_steps += steps * (1 - len(active) / len(self.lanes))
        table = self.program.evaluate()
        check_global_states(generators)
        elapsed = time.perf_counter() - begin
        due = [(place, lane) for place, lane in self._occupied() if lane.epoch == lane.next_due]
        for lane in active:
            lane.seconds += elapsed
        for place, lane in due:  # all rows before the first save: if a save fails, the other lanes are complete
            per_step = spent / (steps * len(active) * self.fleets()) if steps else float("nan")
            row = {"epoch": lane.epoch, "seconds": lane.seconds, "seconds_per_step": per_step}
            row |= {name: values[place] for name, values in table.items()}
            lane.status = lane.stop_rule.status_of(row) or "running"
            lane.last = row
            lane.rows.append(row)
            lane.unseen.append(row)
            lane.next_due = min(lane.job.config.log.next_after(lane.epoch), lane.job.config.epochs)
        ending = [place for place, lane in due if lane.status != "running"]
        states = dict(zip(ending, self.program.unload_each(ending, self.stay), strict=True)) if ending else {}
        for place, lane in due:
            if place in states:
                self._save(place, lane, lane.status, tensors=states.pop(place))
                self.lanes[place] = None
            elif (keep := lane.job.config.log.keep) and lane.epoch and lane.epoch % keep == 0:
                self._save(place, lane, "running", keep=True)
        self._append()
        if self.progress:
            self.progress.update(active, len(self.waiting))
        return False

    def _fill(self) -> None:
        """Load waiting runs into free lanes; if none is waiting, shrink the fleet."""
        self._shrink()
        for place in range(self.limit):
            while (place >= len(self.lanes) or self.lanes[place] is None) and self._prefetch(1):
                if not self._load(place, *self.prefetched.popleft()):
                    return
        self._prefetch(0)

    def _prefetch(self, needed: int) -> bool:
        """Open up to max(io_threads, needed) runs ahead of time; True if there is one."""
        ahead = self.io_pool.io_threads
        if self.shares and len(self.waiting) <= self.limit:
            ahead = min(ahead, self.limit - len(self._active()))
        while self.waiting and len(self.prefetched) < max(ahead, needed):
            with suppress(IndexError):  # another fleet took the job
                job = self.waiting.popleft()
                self.prefetched.append((job, self.io_pool.submit(partial(prepare, job))))
        return bool(self.prefetched)

    def _load(self, place: int, job: Job, prepared: Future[PreparedRun]) -> bool:
        """Load a job into a lane, unless there is nothing to train or it fails. False if it has to wait for the first evaluation of
        the other lanes."""
        try:
            saved, data, origin = prepared.result()
            lane = Lane(job=job, stop_rule=StopRule(job.config))
            if saved is not None:
                lane.epoch, metadata, _ = saved
                lane.saved = lane.epoch
                lane.stop_rule.held_since, lane.seconds = metadata["held_since"], metadata["seconds"]
                lane.next_due = min(job.config.log.next_after(lane.epoch), job.config.epochs)
            other = next((one for one in self.lanes if one is not None), None)  # all have the same phase
            if not self.stats.lane_steps and other is not None and other.phase != lane.phase:
                # next to runs that stopped between evaluations, its evaluations would never coincide with theirs
                self.prefetched.appendleft((job, prepared))
                return False
            if self.program is None or self.limit == 1:
                self._drop_program()
                self.program = Program(job.config, self.limit, self.device, fit_only=self.fit_only, last=self.last)
                self.lanes = [None] * self.limit
            since = saved[1].get("since", 0) if saved else 0
            self.program.load(place, job.config, data, saved[2] if saved else None, origin, since)
        except FinishedError:
            job.sink.close()
            return True
        except BusyError as error:
            job.sink.close()
            if self.failures is None:
                raise
            self.failures.busy(job, error)
            return True
        except GrokscopeError as error:
            self._fail(job, error)
            return True
        except BaseException as error:
            if is_out_of_memory(error):
                job.sink.close()
                self.evicted.append(job)
                self.waiting.appendleft(job)
            elif isinstance(error, Exception):
                job.sink.fail(_in_words(error))
            else:
                job.sink.close()
            raise
        self.lanes[place] = lane
        return True

    def _fail(self, job: Job, error: Exception) -> None:
        """End one run because of an error; the others continue."""
        self.lanes = [None if lane is not None and lane.job is job else lane for lane in self.lanes]
        if taken_over := isinstance(error, BusyError):
            job.sink.close()
        else:
            job.sink.fail(_in_words(error))
        if self.failures is None:
            raise error
        if taken_over:
            self.failures.busy(job, error)
        else:
            self.failures.failed(job, error)

    def _shrink(self) -> None:
        """Build a smaller program for the remaining lanes once idle lanes have cost as much as building it, unless the runs end
        before they cost as much again."""
        occupied = [place for place, _ in self._occupied()]
        idle = [place for place in range(len(self.lanes)) if place not in occupied]
        if self.program is None or self.waiting or self.prefetched or not occupied or not idle:
            return
        limit = _idle_limit(len(self.lanes))
        if self.idle_steps < limit or self._steps_left() * len(idle) / len(self.lanes) < limit:
            return
        smaller = self.program.narrow(occupied)
        self._drop_program()
        self.program = smaller
        self.lanes = [self.lanes[place] for place in occupied]
        self.limit = len(occupied)
        self.idle_steps = 0.0

    def _steps_left(self) -> int:
        """Most steps that a lane can still take."""
        assert self.program is not None
        epochs = max(lane.job.config.epochs - lane.epoch for lane in self._active())
        return epochs * self.program.config.steps_per_epoch

    def _drop_program(self) -> None:
        if self.program is not None:
            self.program.close()
        self.program = None

    def _save_all(self, status: str) -> None:
        for place, lane in self._occupied():
            lane.status = status
            self._save(place, lane, status)

    def _append(self) -> None:
        """Show the new rows of all lanes, unless that was done an instant ago."""
        begin = time.monotonic()
        if begin < self.next_append:
            return
        for lane in self._active():
            if lane.unseen:
                rows, lane.unseen = lane.unseen, []
                lane.job.sink.append(rows)
        now = time.monotonic()
        self.next_append = now + max(_APPEND_EVERY, (now - begin) / _APPENDING)

    def _rescue(self, error: Exception) -> None:
        """After an error, save every lane whose weights and rows are complete up to its epoch. The other lanes keep their last
        save: a failed evaluation omits a row, and a step that failed half-way leaves weights of no epoch (visible in the step
        counter, or the lane has not advanced since it was loaded or saved)."""
        if self.program is None:
            return
        per_epoch = self.program.config.steps_per_epoch
        for place, lane in self._occupied():
            lane.status = "stopped" if lane.status == "running" else lane.status
            with suppress(Exception):  # raise the first error
                advanced = lane.epoch > lane.saved and int(self.program.step[place]) == lane.epoch * per_epoch
                if advanced and not lane.unmeasured:
                    self._save(place, lane, lane.status)
        with suppress(Exception):
            self._saved(wait=True)
        if self.limit == 1:  # it is known whose error it is
            for lane in self._active():
                lane.job.sink.fail(_in_words(error))

    def _save(
        self, place: int, lane: Lane, status: str, keep: bool = False, tensors: Mapping[str, Tensor] | None = None
    ) -> None:
        """tensors   what the lane holds, if it is known"""
        assert self.program is not None
        if not self._confirmed(lane, wait=True):  # saves of one run are sequential
            return
        metadata = {"held_since": lane.stop_rule.held_since, "seconds": lane.seconds}
        tensors = self.program.unload(place) if tensors is None else tensors
        state = {"epoch": lane.epoch, "rows": lane.rows, "tensors": tensors, "metadata": metadata}
        lane.rows, lane.saved = [], lane.epoch
        lane.saving = self.io_pool.submit(partial(_write, lane.job.sink, state | {"status": status, "keep": keep}))
        self.unsaved.append(lane)
        self._confirmed(lane)

    def _confirmed(self, lane: Lane, wait: bool = False) -> bool:
        """Whether the last save of a lane is on disk. A lane whose save failed ends."""
        if lane.saving is None:
            return True
        if not (wait or lane.saving.done()):
            return False
        saving, lane.saving = lane.saving, None
        self.unsaved.remove(lane)
        if (error := saving.exception()) is None:
            return True
        assert isinstance(error, Exception)
        self._fail(lane.job, error)
        return False

    def _saved(self, wait: bool = False) -> bool:
        """Whether all submitted saves are on disk, or have failed."""
        for lane in tuple(self.unsaved):
            self._confirmed(lane, wait)
        return not self.unsaved


def _idle_limit(lanes: int) -> float:
    """Idle steps after which a smaller program pays off: about as long as recording one takes, a tenth of a second."""
    return 200 / (1 + lanes / 50)


def _write(sink: Sink, state: dict[str, Any]) -> None:
    sink.save(**state)
    if state["status"] not in ("running", "stopped"):  # the run is finished
        sink.close()


def _in_words(error: Exception) -> str:
    """One line; errors that are not meant for users name their type."""
    text = " ".join(str(error).split())
    return text if isinstance(error, GrokscopeError) else f"{type(error).__name__}: {text}"
