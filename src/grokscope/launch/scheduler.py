"""Fleets in parallel, each in its own thread.

On a CPU every worker trains one run at a time with one PyTorch thread and takes runs from a shared queue; cores without a
worker help with blocks of examples (`ops/team.py`). On a GPU every worker has its own stream and a fleet of many lanes.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass

import torch

from ..errors import ConfigError, LostLeaseError
from ..fleet import Fleet, Job, Lane, Progress, TrainingStats
from ..helpers import cores
from ..ops.blas import float32_products
from ..ops.graph import RECORDING
from ..ops.memory import is_out_of_memory
from ..ops.team import Team, team_of
from .plan import FEW

IO_THREADS = 4
"""Threads per fleet on a GPU that open and save runs: a short run takes no longer than opening and saving it."""
_SHOWN = 3
"""Failures that are shown at once; the others are counted at the end."""
SWITCH = 0.0002
"""Switch interval of Python threads in seconds. Launching a graph takes little time, and the GPU waits for it."""


@dataclass(kw_only=True)
class Group:
    """Runs of one signature that are waiting to be trained."""

    waiting: deque[Job]
    lanes: int
    """Maximum number of lanes of a fleet; one on a CPU."""
    fleets: int = 0
    """Number of fleets that train this group now."""
    fit_only: bool = False
    """Whether loss and accuracy are all that is measured."""
    stay: bool = False
    """Whether the tensors of finished runs stay on the device."""
    backed_off: bool = False
    """Whether the number of lanes was halved because memory ran out."""

    @property
    def work(self) -> int:
        """Estimated work, for comparison with other groups. A few lanes take as long as their longest run."""
        each = [job.config.epochs * job.config.task.shape.train_size for job in tuple(self.waiting)]
        return max(sum(each), min(self.lanes, FEW) * max(each, default=0))


class Scheduler:
    """Trains all groups with several workers."""

    def __init__(
        self,
        groups: Iterable[Group],
        *,
        workers: int,
        device: torch.device,
        cores: int,
        progress: Progress | None = None,
        interrupted: Callable[[], bool] = lambda: False,
        save_every: float = 20.0,
        notify: Callable[[str], None] = lambda line: None,
    ):
        """
        cores    number of cores to use
        notify   called with each line for the user
        """
        self.groups = list(groups)
        self.workers = workers
        self.device = device
        self.cores = cores
        self.progress = progress
        self.interrupted = interrupted
        self.save_every = save_every
        self.notify = notify
        self.stats = TrainingStats()
        self.failures: list[tuple[Job, Exception]] = []
        """Runs that failed, with the reason."""
        self.skipped: list[Job] = []
        """Runs that another process trains."""
        self._filling = threading.Lock()
        """Held by the fleet that opens its first runs on a GPU."""
        self._lock = threading.Lock()
        self._errors: list[BaseException] = []
        self._abandoned = False
        self._most = workers
        """Most workers that fit into memory."""
        self._ended = 0
        """Workers that ended because memory ran out."""
        self._gone = 0
        """Threads that have ended."""

    def run(self) -> None:
        """Train until every run is finished, has failed or is trained elsewhere, or until training is interrupted. An error in the
        code of a task, model, measure … stops every worker; each saves its runs, and the first error is raised."""
        switch = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            with float32_products(), team_of(self.cores if self.device.type == "cpu" else 1) as team:
                if self.workers == 1:
                    self._work(team)
                else:
                    self._work_side_by_side(team)
        finally:
            sys.setswitchinterval(switch)
            for group in self.groups:
                for job in group.waiting:
                    job.sink.close()
        if self._errors:
            raise self._errors[0]

    def _work_side_by_side(self, team: Team) -> None:
        threads = [
            threading.Thread(target=self._work_until_end, args=(team,), daemon=True) for _ in range(self.workers)
        ]
        for thread in threads:
            thread.start()
        try:
            self._wait()
        except KeyboardInterrupt:  # the second interrupt: stop immediately
            self._abandoned = True
            self._wait()
            raise

    def _wait(self) -> None:
        """Wait until every worker has ended. An interrupt inside Thread.join or Event.wait would break them."""
        while self._gone < self.workers:
            time.sleep(0.01)

    def _work_until_end(self, team: Team) -> None:
        try:
            self._work(team)
        except _AbandonedError:
            pass
        except BaseException as error:
            self._errors.append(error)
        finally:
            with self._lock:
                self._gone += 1

    def _work(self, team: Team) -> None:
        with self._own_place(team):
            while not self._superfluous() and not self._asked_to_stop() and (group := self._next()) is not None:
                self._train(group)

    @contextmanager
    def _own_place(self, team: Team) -> Iterator[None]:
        """The worker's core, and on a GPU its stream."""
        with ExitStack() as place:
            place.enter_context(team.member())
            if self.device.type == "cuda":
                place.enter_context(torch.cuda.device(self.device))
                if self.workers > 1:
                    place.enter_context(torch.cuda.stream(torch.cuda.Stream(self.device)))
            yield

    def _next(self) -> Group | None:
        """The largest group without a fleet; on a CPU several workers may share a group, on a GPU if it is the only one."""
        with self._lock:
            free = [g for g in self.groups if g.waiting and (self._shares(g) or not g.fleets)]
            if not free:
                return None
            group = max(free, key=lambda g: g.work / (1 + g.fleets))
            group.fleets += 1
            return group

    def _shares(self, group: Group) -> bool:
        """Whether several workers may train a group."""
        return self.device.type == "cpu" or len(self.groups) == 1

    def _train(self, group: Group) -> None:
        try:
            if fleet := self._attempt(group):
                self._back_off(group, fleet)
        finally:
            with self._lock:
                group.fleets -= 1

    def _attempt(self, group: Group) -> Fleet | None:
        """Train the group; return the fleet if it does not fit into memory."""
        fleet = Fleet(
            group.waiting,
            lanes=group.lanes,
            device=self.device,
            progress=self,
            failures=self,
            interrupted=self._asked_to_stop,
            save_every=self.save_every,
            fleets=lambda: sum(g.fleets for g in self.groups),
            io_threads=0 if self.device.type == "cpu" else IO_THREADS,
            filling=self._turn() if self.device.type == "cuda" else nullcontext(),
            shares=self.workers > 1 and self._shares(group),
            fit_only=group.fit_only,
            stay=group.stay,
        )
        try:
            fleet.run()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return fleet
        finally:
            with self._lock:
                self.stats += fleet.stats
        return None

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        """Fleets on a GPU begin one after the other, so that one trains while the next opens its runs, and they do not all save at
        the same time. False if training was interrupted before a fleet had its turn."""
        with self._filling:
            yield not self._asked_to_stop()

    def _waiting(self) -> int:
        return sum(len(group.waiting) for group in self.groups)

    def _back_off(self, group: Group, fleet: Fleet) -> None:
        """Half as many lanes, or half as many workers on a CPU, once."""
        lanes = fleet.limit
        if lanes == 1 and self.device.type == "cpu":
            self._back_off_workers(group, fleet)
            return
        if group.backed_off and group.lanes < lanes:  # by the other fleet of this group
            return
        if group.backed_off or lanes == 1:
            raise ConfigError("lanes", f"{lanes} lanes of these runs do not fit into the memory of {self.device}")
        group.backed_off, group.lanes = True, lanes // 2
        self.notify(f"{lanes} lanes do not fit into the memory of {self.device}; continuing with {group.lanes}")
        with RECORDING:
            gc.collect()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()

    def _back_off_workers(self, group: Group, fleet: Fleet) -> None:
        """After the first time, a run that does not fit fails alone: others may be smaller."""
        with self._lock:
            running = self.workers - self._ended
            if halve := self._most == self.workers > 1:
                self._most = running // 2
        if halve:
            self.notify(f"{running} runs at once do not fit into memory; continuing with {self._most}")
        elif running <= self._most:
            for job in fleet.evicted:
                with suppress(ValueError):  # another worker has taken it
                    group.waiting.remove(job)
                    self.failed(job, ConfigError("memory", "the run does not fit into the memory of this machine"))
        gc.collect()

    def _superfluous(self) -> bool:
        """Whether this worker should end because memory ran out."""
        with self._lock:
            if self.workers - self._ended <= self._most:
                return False
            self._ended += 1
            return True

    def busy(self, job: Job, error: Exception) -> None:
        with self._lock:
            self.skipped.append(job)
        if isinstance(error, LostLeaseError):
            self.notify(str(error))

    def failed(self, job: Job, error: Exception) -> None:
        with self._lock:
            self.failures.append((job, error))
            number = len(self.failures)
        if number <= _SHOWN:
            self.notify(f"run {job.config.id} failed: {error}")

    def _asked_to_stop(self) -> bool:
        if self._abandoned:
            raise _AbandonedError
        return bool(self._errors) or self.interrupted()

    def update(self, lanes: list[Lane], waiting: int) -> None:
        """Forwards the progress of fleets, one at a time, with the number of runs waiting in all groups."""
        if self.progress:
            with self._lock:
                self.progress.update(lanes, self._waiting())


class _AbandonedError(BaseException):
    """Exit without saving."""


def usable_cores() -> int:
    """The number of threads that PyTorch would use, at most the number of cores available to this process."""
    return min(torch.get_num_threads(), cores())
