"""A process that compiles kernels for another one, into Triton's cache on disk. It has no GPU and imports no PyTorch."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

PATIENCE = 120
"""Seconds after which it ends if nothing is asked of it: the other process may have been stopped, or have nothing to compile."""


def serve() -> None:
    """Compile what comes on standard input, until it is closed; each is answered with one byte."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides
    signal.alarm(PATIENCE)
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing that a compiler prints is an answer
    # only what launches kernels needs PyTorch, and importing it would take longer than compiling most kernels
    sys.modules["torch"] = ModuleType("torch")
    with suppress(Exception):
        get_ready()
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        signal.alarm(PATIENCE)
        with suppress(Exception):  # the other process compiles it, too, and says what is wrong
            compile_kernel(**request)
        os.write(answers, b"1")


def get_ready() -> None:
    """Do what Triton does once per process, before the first kernel is asked for."""
    read_triton()
    for module in ("triton.compiler.code_generator", "triton.language.extra.cuda.libdevice"):
        importlib.import_module(module)


def read_triton() -> None:
    """Let Triton read all of itself, for the names of compiled kernels: some hundred megabytes, without the interpreter's lock."""
    with suppress(ImportError):  # another version may do it elsewhere
        from triton.runtime.cache import triton_key

        triton_key()


def compile_kernel(
    module: str,
    name: str,
    signature: dict[str, str],
    constants: dict[tuple[int, ...], Any],
    attributes: dict[tuple[int, ...], Any],
    options: dict[str, Any],
    target: tuple[str, Any, int],
) -> None:
    """What Triton does when a kernel is first launched, except for loading it."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = getattr(importlib.import_module(module), name)
    source = ASTSource(kernel, signature, constants, attributes)
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    triton.compile(source, target=GPUTarget(*target), options=options)
