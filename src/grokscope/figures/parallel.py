"""Writing many figures to files, in several processes: one takes a second or more."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MANY = 8
"""Number of figures from which processes are started, and the maximum number of processes."""


class InlineExecutor(Executor):
    """An executor that runs everything immediately, in this process."""

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        done: Future[T] = Future()
        done.set_result(work(*args, **kwargs))
        return done


def executor_for(figures: int) -> Executor:
    """An executor: other processes where there are many figures and more than two cores, else this process.

    Its arguments are pickled: no axis of a figure may hold a lambda.
    """
    cores = os.cpu_count() or 1
    if figures < MANY or cores < 3:
        return InlineExecutor()
    return ProcessPoolExecutor(min(cores - 1, MANY), mp_context=get_context("spawn"))
