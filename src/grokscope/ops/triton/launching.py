"""Launching kernels, and compiling all kernels of a function at once before it runs.

Triton compiles a kernel when it is first launched. A machine that has compiled none yet would wait for one after another, most of
the time for the assembler and the C compiler: in a rehearsal they are compiled side by side.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import torch

MOST = 8
"""Kernels that are compiled at once, at most."""


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
    with ThreadPoolExecutor(min(MOST, os.cpu_count() or 1)) as pool, torch.autograd.set_multithreading_enabled(False):
        token = _compiler.set(_Compiler(pool, device))
        try:
            yield
        finally:
            _compiler.reset(token)


class _Compiler:
    def __init__(self, pool: ThreadPoolExecutor, device: torch.device):
        self.pool, self.device = pool, device
        self.locks: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        """One kernel is compiled once at a time: a second request for the same finds it compiled."""

    def begin(self, kernel: Any, grid: tuple[int, ...], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.pool.submit(self._compile, kernel, self.locks[id(kernel)], grid, arguments, options)

    def _compile(
        self,
        kernel: Any,
        lock: threading.Lock,
        grid: tuple[int, ...],
        arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> None:
        with suppress(Exception), lock:  # what is wrong with it will be said when it is launched
            if self.device.type == "cuda":
                torch.cuda.set_device(self.device)  # of this thread
            compiled = kernel.warmup(*arguments, grid=grid, **options)
            compiled.run  # noqa: B018  compiles the function that launches it, and loads it


_compiler: ContextVar[_Compiler | None] = ContextVar("compiler", default=None)
