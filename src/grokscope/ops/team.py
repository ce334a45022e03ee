"""Threads that share the blocks of one run's work on a CPU.

Every run computes with one PyTorch thread, so that its bits do not depend on the number of threads or neighbours. Large
operations are split into blocks by shape alone; idle cores take blocks, and the results are combined in a fixed order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

import torch
from torch.utils._python_dispatch import is_in_torch_dispatch_mode


class Team:
    """One thread per usable core: some train runs, the others help them."""

    def __init__(self, threads: int = 1):
        self.threads = threads
        self._idle = threads
        """Idle cores."""
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads - 1, initializer=_start_helper) if threads > 1 else None

    @contextmanager
    def member(self) -> Iterator[None]:
        """Context in which the calling thread trains runs: it has a core and one PyTorch thread."""
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        self._reserve(1)
        try:
            yield
        finally:
            self._release(1)
            torch.set_num_threads(before)

    def each(self, work: Callable[[int], None], blocks: int) -> None:
        """Call `work(0)` … `work(blocks − 1)`, in any order and thread, without autograd. No two calls write to the same memory."""
        # a dispatch mode (such as a FLOP counter) sees the operations of the calling thread alone
        helpers = self._reserve_idle(blocks - 1) if self._pool and not is_in_torch_dispatch_mode() else 0
        if not helpers:
            for block in range(blocks):
                work(block)
            return
        assert self._pool is not None
        number = count()  # next() is atomic: every block is taken once

        def drain() -> None:
            while (block := next(number)) < blocks:
                work(block)

        begun: list[Future[None]] = []
        try:
            begun = [self._pool.submit(drain) for _ in range(helpers)]
            drain()
        finally:
            for done in begun:
                done.exception()  # wait: the blocks write to the caller's memory
            self._release(helpers)
        for done in begun:
            done.result()

    def close(self) -> None:
        if self._pool:
            self._pool.shutdown()

    def _reserve(self, cores: int) -> None:
        with self._lock:
            self._idle -= cores

    def _reserve_idle(self, most: int) -> int:
        """Take up to `most` idle cores; returns how many."""
        with self._lock:
            cores = max(0, min(most, self._idle))
            self._idle -= cores
            return cores

    def _release(self, cores: int) -> None:
        with self._lock:
            self._idle += cores


def _start_helper() -> None:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)  # the mode is per thread


_current = Team()


def each_block(work: Callable[[int], None], blocks: int) -> None:
    """`Team.each` of the active team; without one, the calling thread does all the work."""
    _current.each(work, blocks)


def block_bounds(examples: int, largest: int) -> list[tuple[int, int]]:
    """Blocks of nearly equal size, none above `largest`, as (begin, end). Depends on the sizes alone. Their number is a multiple
    of four, or two or one if four would be smaller than 3/8 of `largest`: cores share them evenly."""
    if not examples:
        return [(0, 0)]
    number = 4 * -(-examples // (4 * largest))
    while number > 1 and examples / number < 0.375 * largest:
        number //= 2
    size = -(-examples // number)
    return [(begin, min(begin + size, examples)) for begin in range(0, examples, size)]


@contextmanager
def team_of(threads: int) -> Iterator[Team]:
    """Context with an active team."""
    global _current
    before, team = _current, Team(threads)
    threads_before = torch.get_num_threads()
    _current = team
    try:
        yield team
    finally:
        _current = before
        team.close()
        # threads of the team set their own number, and with it the one that later threads begin with
        torch.set_num_threads(threads_before)
