"""Who writes pictures: writing one takes a second or more, and no picture waits for another."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MANY = 8
"""Pictures that are worth starting processes for, and the most processes that are started."""


class Here(Executor):
    """Does at once, in this process, what it is asked."""

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        done: Future[T] = Future()
        done.set_result(work(*args, **kwargs))
        return done


def painters(pictures: int) -> Executor:
    """Processes beside this one where there are many pictures and more than two cores, else this process.

    What they are given is pickled: no axis of a picture may hold a lambda.
    """
    cores = os.cpu_count() or 1
    if pictures < MANY or cores < 3:
        return Here()
    return ProcessPoolExecutor(min(cores - 1, MANY), mp_context=get_context("spawn"))
