"""Fleets side by side, each in a thread of its own.

On a CPU every worker has its share of the threads that PyTorch would use, and takes runs from the same queue as the others.
On a GPU every worker has a stream, and a fleet to itself: small fleets leave most of a GPU idle.
"""

from __future__ import annotations

import gc
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ..errors import ConfigError
from ..fleet.engine import Fleet, Job, Lane, Progress
from ..fleet.stats import TrainingStats
from ..ops.graph import RECORDING
from .fit import FEW
from .pack import signature

if TYPE_CHECKING:
    from ..config import RunConfig


_MOST = {"cpu": 16, "cuda": 4}
"""Workers that are worth having."""
_IO_THREADS = 4
"""Threads of a fleet on a GPU that open and save runs: a run there takes no longer than opening and saving it."""
_SWITCH = 0.0002
"""Seconds after which a thread in Python code lets another go on. Replaying a graph is a moment's work, and a GPU waits for it."""
_PYTHON = 340_000_000
"""Multiply-adds of a worker's step that hide the Python code of another's; measured on two cores."""


@dataclass(kw_only=True)
class Group:
    """Runs of one signature that wait to be trained."""

    waiting: deque[Job]
    lanes: int
    """How many of them a fleet trains at once, at most."""
    fewest: int = 1
    """Lanes that a fleet has at least; see `Fleet`."""
    fleets: int = 0
    """How many work on it now."""
    backed_off: bool = False
    """Whether memory ran out before."""

    @property
    def work(self) -> int:
        """How much there is to do, for comparison with other groups. A few lanes take as long as their longest run."""
        each = [job.config.epochs * job.config.task.shape.train_size for job in tuple(self.waiting)]
        return max(sum(each), FEW * max(each, default=0))


class Scheduler:
    """Trains all groups with several workers."""

    def __init__(
        self,
        groups: Iterable[Group],
        *,
        workers: int,
        device: torch.device,
        threads: int,
        progress: Progress | None = None,
        interrupted: Callable[[], bool] = lambda: False,
        save_every: float = 20.0,
        tell: Callable[[str], None] = lambda line: None,
    ):
        """
        threads   of PyTorch's own that each worker has
        tell      hears of what a user should know
        """
        self.groups = list(groups)
        self.workers = workers
        self.device = device
        self.threads = threads
        self.progress = progress
        self.interrupted = interrupted
        self.save_every = save_every
        self.tell = tell
        self.stats = TrainingStats()
        self._lock = threading.Lock()
        self._errors: list[BaseException] = []
        self._abandoned = False
        self._ended = 0

    def run(self) -> None:
        """Train until all is over or somebody interrupts. An error stops every worker, each saves what it has, and the
        first error is raised."""
        before, switch = torch.get_num_threads(), sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH)
        try:
            if self.workers == 1:
                self._work()
            else:
                self._work_side_by_side()
        finally:
            sys.setswitchinterval(switch)
            torch.set_num_threads(before)  # also what later threads start with
            for group in self.groups:
                for job in group.waiting:
                    job.sink.close()
        if self._errors:
            raise self._errors[0]

    def _work_side_by_side(self) -> None:
        team = [threading.Thread(target=self._work_until_end, daemon=True) for _ in range(self.workers)]
        for worker in team:
            worker.start()
        try:
            self._wait()
        except KeyboardInterrupt:  # the second one: stop at once
            self._abandoned = True
            self._wait()
            raise

    def _wait(self) -> None:
        """Until every worker has come to its end. An interrupt inside Thread.join or Event.wait would break them."""
        while self._ended < self.workers:
            time.sleep(0.01)

    def _work_until_end(self) -> None:
        try:
            self._work()
        except _Abandoned:
            pass
        except BaseException as error:
            self._errors.append(error)
        finally:
            with self._lock:
                self._ended += 1

    def _work(self) -> None:
        with self._own_place():
            while not self._asked_to_stop() and (group := self._next()) is not None:
                self._train(group)

    @contextmanager
    def _own_place(self) -> Iterator[None]:
        """The worker's threads, and on a GPU its stream."""
        torch.set_num_threads(self.threads)
        with ExitStack() as place:
            if self.device.type == "cuda":
                place.enter_context(torch.cuda.device(self.device))
                if self.workers > 1:
                    place.enter_context(torch.cuda.stream(torch.cuda.Stream(self.device)))
            yield

    def _next(self) -> Group | None:
        """The largest group that nobody works on; on a CPU several workers may share one."""
        with self._lock:
            free = [g for g in self.groups if g.waiting and (self.device.type == "cpu" or not g.fleets)]
            if not free:
                return None
            group = max(free, key=lambda g: g.work / (1 + g.fleets))
            group.fleets += 1
            return group

    def _train(self, group: Group) -> None:
        try:
            while group.waiting and not self._asked_to_stop() and (lanes := self._attempt(group)):
                self._back_off(group, lanes)
        finally:
            with self._lock:
                group.fleets -= 1

    def _attempt(self, group: Group) -> int:
        """Train the group; returns the number of lanes if they do not fit into memory, else 0."""
        fleet = Fleet(
            group.waiting,
            lanes=min(group.lanes, self._share()) if self.device.type == "cpu" else group.lanes,
            device=self.device,
            progress=self,
            interrupted=self._asked_to_stop,
            save_every=self.save_every,
            fewest=group.fewest,
            beside=lambda: sum(g.fleets for g in self.groups),
            io_threads=0 if self.device.type == "cpu" else _IO_THREADS,
        )
        try:
            fleet.run()
        except torch.OutOfMemoryError:
            return fleet.limit
        finally:
            with self._lock:
                self.stats += fleet.stats
        return 0

    def _share(self) -> int:
        """Of the runs that wait. On a CPU every lane costs time: workers have equal shares."""
        return math.ceil(self._waiting() / self.workers)

    def _waiting(self) -> int:
        return sum(len(group.waiting) for group in self.groups)

    def _back_off(self, group: Group, lanes: int) -> None:
        """Half as many lanes, once."""
        if group.backed_off or lanes <= group.fewest:
            raise ConfigError("lanes", f"{lanes} lanes of these runs do not fit into the memory of {self.device}")
        group.backed_off, group.lanes = True, max(lanes // 2, group.fewest)
        self.tell(f"{lanes} lanes do not fit into the memory of {self.device}; going on with {group.lanes}")
        with RECORDING:
            gc.collect()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()

    def _asked_to_stop(self) -> bool:
        if self._abandoned:
            raise _Abandoned
        return bool(self._errors) or self.interrupted()

    def update(self, lanes: list[Lane], waiting: int) -> None:
        """What a fleet tells of its lanes, one fleet at a time and with the runs that wait anywhere."""
        if self.progress:
            with self._lock:
                self.progress.update(lanes, self._waiting())


class _Abandoned(BaseException):
    """Leave without saving."""


def plan_workers(configs: Sequence[RunConfig], device: torch.device) -> tuple[int, int]:
    """Workers for these runs, and threads of PyTorch's own for each. It depends on all runs that are wanted and not on those
    still to train: with other threads a resumed run would have other bits.

    Python code runs in one worker at a time: more workers than the arithmetic of the others can hide would only wait for each
    other, and a fleet of few lanes is slower than one of many.
    """
    threads = usable_threads()
    if device.type == "cuda":
        workers = min(_MOST["cuda"], len({signature(config) for config in configs}))
        return workers, max(threads // workers, 1)
    mean = sum(_operations(config) for config in configs) / len(configs)
    for workers in range(min(_MOST["cpu"], threads, len(configs)), 1, -1):
        if (workers - 1) * _PYTHON <= math.ceil(len(configs) / workers) * mean:
            return workers, threads // workers
    return 1, threads


def _operations(config: RunConfig) -> int:
    """Multiply-adds of a step, roughly: forward, and twice that backward."""
    shape = config.task.shape
    weights = sum(math.prod(p.shape) for p in config.model.parameters(shape).values())
    return 3 * (config.batch_size or shape.train_size) * weights


def usable_threads() -> int:
    """As many as PyTorch would use, and no more than there are cores for this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(torch.get_num_threads(), cores)
