"""Work of the host beside training: opening the runs that come next, writing what was measured."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Desk:
    """Some clerks, each a thread. Without clerks whoever hands in work does it himself."""

    def __init__(self, clerks: int = 0):
        self.clerks = clerks
        self._pool = ThreadPoolExecutor(clerks) if clerks else None

    def hand(self, work: Callable[[], T]) -> Future[T]:
        """Begin some work. Its result, or what it raised, is in the future."""
        if self._pool:
            return self._pool.submit(work)
        done: Future[T] = Future()
        try:
            done.set_result(work())
        except Exception as error:
            done.set_exception(error)
        return done

    def close(self) -> None:
        """Finish all that was handed in."""
        if self._pool:
            self._pool.shutdown()
