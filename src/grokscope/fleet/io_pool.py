"""Work of the host beside training: opening the runs that come next, writing what was measured."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class IOPool:
    """Some io_threads, each a thread. Without io_threads whoever hands in work does it himself."""

    def __init__(self, io_threads: int = 0):
        self.io_threads = io_threads
        self._pool = ThreadPoolExecutor(io_threads) if io_threads else None

    def submit(self, work: Callable[[], T]) -> Future[T]:
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
