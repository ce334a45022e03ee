"""CUDA graphs: a function recorded once and replayed, so that a step of a small fleet costs its kernels and not their launches.

Several fleets may record and replay concurrently, each in a thread with its own stream. Recordings are serialised.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import torch

from ..errors import ConfigError
from ..garbage import no_collection

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")
_TORCH = str(Path(torch.__file__).parent)

RECORDING = threading.Lock()
"""Held while a graph is recorded. PyTorch records one graph at a time, the allowed precision of matrix products is the same
for the whole process and counts while recording, and the cache of freed memory must not be emptied then."""


def captured(
    function: Callable[[], T],
    changes: Callable[[], list[Tensor]],
    precision: str = "",
    prepare: Callable[[], None] = lambda: None,
    part: Callable[[], object] | None = None,
) -> Callable[[], T]:
    """`function` as a CUDA graph, recorded at the first call. It must read and write the same tensors every time;
    `changes` lists those it writes to, so that they can be restored after recording. Its result is overwritten by the next call.

    precision   of matrix products: float32, or one that allows TF32; by default as PyTorch is set
    prepare     called before recording
    part        a part of the function with all its operations, which warms up in its place
    """
    recorded: list[tuple[torch.cuda.CUDAGraph, T]] = []

    def call() -> T:
        if not recorded:
            # collecting the graph of an earlier program would invalidate the recording
            with RECORDING, _matmul_precision(precision), no_collection():
                prepare()
                recorded.append(_record(function, part or function, changes()))
        graph, result = recorded[0]
        graph.replay()
        return result

    return call


@contextmanager
def restored(changing: list[Tensor]) -> Iterator[None]:
    """Context after which these tensors are as they were before."""
    before = [tensor.detach().clone() for tensor in changing]
    try:
        yield
    finally:
        for tensor, old in zip(changing, before, strict=True):
            tensor.detach().copy_(old)


def _record(
    function: Callable[[], T], part: Callable[[], object], changing: list[Tensor]
) -> tuple[torch.cuda.CUDAGraph, T]:
    with restored(changing):
        return _recorded(function, part)


def _recorded(function: Callable[[], T], part: Callable[[], object]) -> tuple[torch.cuda.CUDAGraph, T]:
    current = torch.cuda.current_stream()
    # A fleet in a thread records on the thread's stream: a new one might be another thread's, PyTorch has only a few.
    # The default stream cannot be recorded.
    side = torch.cuda.Stream() if current == torch.cuda.default_stream() else current
    side.wait_stream(current)
    with torch.cuda.stream(side):  # warm-up, required before recording
        for _ in range(2):
            part()
    current.wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    # thread_local: work of other threads (allocate, copy, replay) does not affect this recording
    first: Exception | None = None
    try:
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            try:
                result = function()
            except Exception as error:
                first = error
                raise
    except Exception:  # ending an aborted recording may raise an error that hides the first
        if isinstance(first, RuntimeError) and "captur" in str(first):
            raise not_recordable(first) from first
        if first is not None:
            raise first from None
        raise
    return graph, result


def not_recordable(error: RuntimeError) -> ConfigError:
    """Something that a GPU cannot repeat from a recording, said with the line of Python that asked for it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_TORCH)]
    last = frames[-1]
    return ConfigError(
        f"{Path(last.filename).name}, line {last.lineno}",
        f"a GPU cannot record `{last.line}`: steps and measures must stay on it; make tensors there, such as "
        "torch.full((), 0.5, device=logits.device), and do not ask for a value",
    )


@contextmanager
def _matmul_precision(precision: str) -> Iterator[None]:
    """Context that allows TF32 matrix products unless `precision` is float32, and restores the previous setting."""
    before = torch.get_float32_matmul_precision()
    if precision:
        torch.set_float32_matmul_precision("highest" if precision == "float32" else "high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
