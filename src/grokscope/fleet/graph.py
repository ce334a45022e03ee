"""CUDA graphs: a function recorded once and replayed, so that a step of a small fleet costs its kernels and not their launches."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import torch

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")


def captured(function: Callable[[], T], changes: Callable[[], list[Tensor]]) -> Callable[[], T]:
    """`function` as a CUDA graph, recorded at the first call. It must read and write the same tensors every time;
    `changes` lists those it writes to, so that recording leaves no trace. Its result is overwritten by the next call."""
    recorded: list[tuple[torch.cuda.CUDAGraph, T]] = []

    def call() -> T:
        if not recorded:
            recorded.append(_record(function, changes()))
        graph, result = recorded[0]
        graph.replay()
        return result

    return call


def _record(function: Callable[[], T], changing: list[Tensor]) -> tuple[torch.cuda.CUDAGraph, T]:
    before = [tensor.detach().clone() for tensor in changing]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # warm-up, as recording asks for
        for _ in range(2):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    # a graph of an earlier program that is collected while this one records would spoil the recording
    gc.collect()
    gc.disable()
    try:
        with torch.cuda.graph(graph):
            result = function()
    finally:
        gc.enable()
    for tensor, old in zip(changing, before, strict=True):
        tensor.detach().copy_(old)
    return graph, result
