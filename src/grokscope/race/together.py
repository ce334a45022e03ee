"""Several searches at once: each makes its own decisions, and what they ask to be trained is trained side by side.

A search asks for a few runs, decides, and asks again: alone it leaves a GPU idle. Here every search is a thread of which only one
runs at a time; when all of them wait for training, the calling thread trains everything that was asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..searching.race import Train
    from ..store import RunInfo

T = TypeVar("T")


class _Together:
    """The requests of all tasks that are not finished."""

    def __init__(self, tasks: int):
        self.running = threading.Condition()
        self.busy = tasks
        """Tasks that neither wait for training nor are finished."""
        self.asked: dict[int, tuple[Sequence[RunConfig], Sequence[str]]] = {}
        self.answers: dict[int, dict[str, RunInfo]] = {}
        self.failure: BaseException | None = None

    def train(self, task: int, configs: Sequence[RunConfig], names: Sequence[str]) -> list[RunInfo]:
        """Called by a task, which holds the lock: ask, and wait for the answer."""
        self.asked[task] = (configs, names)
        self.busy -= 1
        self.running.notify_all()
        self.running.wait_for(lambda: task in self.answers or self.failure is not None)
        if self.failure is not None:
            raise InterruptedError
        found = self.answers.pop(task)
        return [found[config.id] for config in configs if config.id in found]


def together(tasks: Sequence[Callable[[Train], T]], train: Train) -> list[T]:
    """The results of all tasks, each called with a function that trains, as `train` does."""
    shared = _Together(len(tasks))
    results: dict[int, T] = {}
    errors: list[BaseException] = []

    def work(number: int, task: Callable[[Train], T]) -> None:
        with shared.running:  # one task at a time
            try:
                results[number] = task(lambda configs, names: shared.train(number, configs, names))
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
                _answer(shared, train)
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


def _answer(shared: _Together, train: Train) -> None:
    """Train everything that was asked for, once each."""
    asked, shared.asked = shared.asked, {}
    # a run that two tasks ask for is trained to the later epoch
    each: dict[str, tuple[RunConfig, str]] = {}
    for configs, names in asked.values():
        for config, name in zip(configs, names, strict=True):
            if config.id not in each or each[config.id][0].epochs < config.epochs:
                each[config.id] = (config, name)
    stored = {run.id: run for run in train([c for c, _ in each.values()], [name for _, name in each.values()])}
    shared.busy += len(asked)
    for task in asked:
        shared.answers[task] = stored
    shared.running.notify_all()
