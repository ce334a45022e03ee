"""Launching kernels, and compiling all kernels of a function at once before it runs.

Triton compiles a kernel when it is first launched. A machine that has compiled none yet would wait for one after another, much of
the time for the assembler and the C compiler: in a rehearsal they are compiled side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch

from ...helpers import cores

MOST = 8
"""Kernels that are compiled at once, at most; 16 were not faster on an H200 with as many cores."""


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
    with ThreadPoolExecutor(min(MOST, cores())) as pool, torch.autograd.set_multithreading_enabled(False):
        token = _compiler.set(_Compiler(pool, device))
        try:
            yield
        finally:
            _compiler.reset(token)


class _Compiler:
    def __init__(self, pool: ThreadPoolExecutor, device: torch.device):
        self.pool, self.device = pool, device
        self.begun: set[Hashable] = set()
        """Variants that are being compiled, or are. A thread that waited for another's variant would compile none meanwhile."""

    def begin(self, kernel: Any, grid: tuple[int, ...], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        own = variant(kernel, arguments, options)
        if own not in self.begun:
            self.begun.add(own)
            self.pool.submit(self._compile, partial(kernel.warmup, *arguments, grid=grid, **options))

    def _compile(self, compiled: Callable[[], Any]) -> None:
        with suppress(Exception):  # what is wrong with it will be said when it is launched
            if self.device.type == "cuda":
                torch.cuda.set_device(self.device)  # of this thread
            compiled().run  # noqa: B018  the function that launches it is compiled, too, and it is loaded


def variant(kernel: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Hashable:
    """What Triton compiles a kernel anew for: its constants and options, and of its other arguments what code depends on. A variant
    that this does not tell from another is compiled when it is launched."""
    given = dict(zip((parameter.name for parameter in kernel.params), arguments, strict=False)) | options
    changing = {own.name: not own.do_not_specialize for own in kernel.params if not own.is_constexpr}
    kinds = ((name, _kind(value, changing[name]) if name in changing else value) for name, value in given.items())
    return id(kernel), *kinds


def _kind(value: Any, specialised: bool) -> Hashable:
    """A size is 1, a multiple of 16 or another one, as an address is aligned or not; a real number is any."""
    if isinstance(value, torch.Tensor):
        return value.dtype, specialised and value.data_ptr() % 16 == 0
    if type(value) is int:
        return "i32" if -(1 << 31) <= value < 1 << 31 else "i64", specialised and (value == 1, value % 16 == 0)
    return type(value).__name__


_compiler: ContextVar[_Compiler | None] = ContextVar("compiler", default=None)
