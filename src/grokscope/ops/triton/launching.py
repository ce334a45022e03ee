"""Launching kernels, and compiling all kernels of a function at once before it runs.

Triton compiles a kernel when it is first launched. A machine that has compiled none yet would wait for one after another, much of
the time for the assembler and the C compiler: in a rehearsal they are compiled side by side, by processes where there are any.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch

from ...helpers import cores
from . import compilers

MOST = 8
"""Kernels that are compiled at once in this process, at most; 16 were not faster on an H200 with as many cores."""
WAITING = 32
"""Kernels that are compiled, built and loaded at once where processes compile them."""


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **options: Any) -> None:
    """Launch a kernel of Triton; in a rehearsal, begin to compile it instead."""
    if (compiler := _compiler.get()) is None:
        kernel[grid](*arguments, **options)
    else:
        compiler.begin(kernel, grid, arguments, options)


@contextmanager
def rehearsal(device: torch.device) -> Iterator[None]:
    """Context in which this thread launches no kernel: what kernels should have written is arbitrary. They are all compiled when
    it ends. A backward pass stays in this thread, too; other threads launch as usual."""
    with (
        compilers.take() or nullcontext() as helped,
        ThreadPoolExecutor(WAITING if helped else min(MOST, cores())) as pool,
        torch.autograd.set_multithreading_enabled(False),
    ):
        token = _compiler.set(_Compiler(pool, device, helped))
        try:
            yield
        finally:
            _compiler.reset(token)


class _Compiler:
    def __init__(self, pool: ThreadPoolExecutor, device: torch.device, helped: compilers.Compilers | None):
        self.pool, self.device, self.helped = pool, device, helped
        self.locks: dict[int, threading.Lock] = {}

    def begin(self, kernel: Any, grid: tuple[int, ...], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.pool.submit(self._compile, self._lock(kernel), partial(kernel.warmup, *arguments, grid=grid, **options))

    def _compile(self, lock: threading.Lock, warmup: Callable[[], Any]) -> None:
        with suppress(Exception):  # what is wrong with it will be said when it is launched
            if self.device.type == "cuda":
                torch.cuda.set_device(self.device)  # of this thread
            with lock:
                compiled = self.helped.compiled(warmup, lock) if self.helped else warmup()
            if compiled is not None:
                with self._lock(compiled):
                    compiled.run  # noqa: B018  the function that launches it is compiled, too, and it is loaded

    def _lock(self, of: Any) -> threading.Lock:
        """One kernel, or one variant of it, is worked on once at a time: a second request for the same finds it compiled."""
        return self.locks.setdefault(id(of), threading.Lock())


_compiler: ContextVar[_Compiler | None] = ContextVar("compiler", default=None)
