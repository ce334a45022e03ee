"""Several searches at once: each makes its own decisions, and what they ask to be trained is trained side by side.

A search asks for a few runs, decides, and asks again: alone it leaves a GPU idle. Here every search is a thread of which only one
runs at a time; when all of them wait for training, the calling thread trains what was asked for: candidates in memory first, as
many searches at a time as fit; then stored runs, the short ones before the long ones, so that the long ones train together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..garbage import spare_more, spared_objects
from ..store import FINISHED
from .training import Trainer

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..launch.memory import MemoryRun
    from ..store import RunInfo

T = TypeVar("T")

MOST = 3000
"""Runs in memory that train at once; more do not make a GPU busier. The last rungs of a search have room beside the first of
another with 2,016 candidates."""
LONGER = 4
"""How many times as many epochs as the shortest request another may ask for, to be trained at the same time."""


class _Request(NamedTuple):
    configs: Sequence[RunConfig]
    names: Sequence[str]
    runs: Sequence[MemoryRun] | None = None
    """Those to be trained in memory; None for stored runs."""

    @property
    def epochs(self) -> int:
        return max(config.epochs for config in self.configs)

    @property
    def ids(self) -> set[str]:
        return {config.id for config in self.configs}


@dataclass
class _Requests:
    """The requests of all tasks that are not finished."""

    trainer: Trainer
    busy: int
    """Tasks that neither wait for training nor are finished."""

    def __post_init__(self) -> None:
        self.running = threading.Condition()
        self.asked: dict[int, _Request] = {}
        self.answers: dict[int, dict[str, RunInfo]] = {}
        self.interrupted = False
        self.failure: BaseException | None = None

    def trainer_of(self, task: int) -> Trainer:
        def stored(configs: Sequence[RunConfig], names: Sequence[str]) -> list[RunInfo]:
            found = self._wait(task, _Request(configs, names))
            return [found[config.id] for config in configs if config.id in found]

        def memory(runs: Sequence[MemoryRun], names: Sequence[str]) -> None:
            self._wait(task, _Request([run.config for run in runs], names, runs))

        return Trainer(stored, memory if self.trainer.memory else None)

    def _wait(self, task: int, request: _Request) -> dict[str, RunInfo]:
        """Called by a task, which holds the lock: ask, and wait for the answer."""
        self.asked[task] = request
        self.busy -= 1
        self.running.notify_all()
        self.running.wait_for(lambda: task in self.answers or self.failure is not None)
        if self.failure is not None:
            raise InterruptedError
        return self.answers.pop(task)

    def answer(self) -> None:
        """Train some of what was asked for, or nothing once training was interrupted: every task then stops by itself."""
        spare_more()  # what searches have measured stays, and memory is looked up before every call of training
        chosen = self.asked if self.interrupted else _first(self.asked)
        self.asked = {task: request for task, request in self.asked.items() if task not in chosen}
        found = {} if self.interrupted else self._train(list(chosen.values()))
        self.busy += len(chosen)
        self.answers |= dict.fromkeys(chosen, found)
        self.running.notify_all()

    def _train(self, requests: Sequence[_Request]) -> dict[str, RunInfo]:
        runs = [run for request in requests for run in request.runs or ()]
        if runs:
            assert self.trainer.memory is not None
            self.trainer.memory(runs, [name for request in requests for name in request.names])
            self.interrupted = not all(run.finished for run in runs)
            return {}
        # a run that two tasks ask for is trained to the later epoch
        each: dict[str, tuple[RunConfig, str]] = {}
        for request in requests:
            for config, name in zip(request.configs, request.names, strict=True):
                if config.id not in each or each[config.id][0].epochs < config.epochs:
                    each[config.id] = (config, name)
        trained = self.trainer.stored([c for c, _ in each.values()], [name for _, name in each.values()])
        found = {run.id: run for run in trained}
        self.interrupted = any(id not in found or found[id].status not in FINISHED for id in each)
        return found


def _first(asked: dict[int, _Request]) -> dict[int, _Request]:
    """The requests that are trained next. Of those in memory, the latest rungs come first: a search that has decided needs no more
    memory."""
    in_memory = {task: request for task, request in asked.items() if request.runs is not None}
    if not in_memory:
        longest = LONGER * min(request.epochs for request in asked.values())
        return {task: request for task, request in asked.items() if request.epochs <= longest}
    chosen: dict[int, _Request] = {}
    ids: set[str] = set()
    for task, request in sorted(in_memory.items(), key=lambda item: (-item[1].epochs, item[0])):
        if not chosen or (len(ids) + len(request.configs) <= MOST and not ids & request.ids):
            chosen[task] = request
            ids |= request.ids
    return chosen


def together(tasks: Sequence[Callable[[Trainer], T]], trainer: Trainer) -> list[T]:
    """The results of all tasks, each called with a trainer of its own that waits for the others."""
    with spared_objects():
        return _together(tasks, trainer)


def _together(tasks: Sequence[Callable[[Trainer], T]], trainer: Trainer) -> list[T]:
    shared = _Requests(trainer, len(tasks))
    results: dict[int, T] = {}
    errors: list[BaseException] = []

    def work(number: int, task: Callable[[Trainer], Any]) -> None:
        with shared.running:  # one task at a time
            try:
                results[number] = task(shared.trainer_of(number))
            except InterruptedError:
                pass
            except BaseException as error:
                errors.append(error)
            finally:
                shared.busy -= 1
                shared.running.notify_all()

    threads = [threading.Thread(target=work, args=(n, task), daemon=True) for n, task in enumerate(tasks)]
    for thread in threads:
        thread.start()
    with shared.running:
        while True:
            shared.running.wait_for(lambda: shared.busy <= 0 or bool(errors))
            if errors or not shared.asked:
                break
            try:
                shared.answer()
            except BaseException as error:
                errors.append(error)
                break
        if errors:
            shared.failure = errors[0]
            shared.running.notify_all()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(tasks))]
