"""Host work that overlaps with training: opening the next runs, writing measurements."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class IOPool:
    """A pool of `io_threads` threads. With 0 threads, `submit` runs the work in the calling thread."""

    def __init__(self, io_threads: int = 0):
        self.io_threads = io_threads
        self._pool = ThreadPoolExecutor(io_threads) if io_threads else None

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Start `work`. The future holds its result or exception."""
        if self._pool:
            return self._pool.submit(work)
        done: Future[T] = Future()
        try:
            done.set_result(work())
        except Exception as error:
            done.set_exception(error)
        return done

    def close(self) -> None:
        """Wait for all submitted work."""
        if self._pool:
            self._pool.shutdown()
