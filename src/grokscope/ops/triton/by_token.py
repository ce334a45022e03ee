"""Weights of reads summed by the token that they read, and the transpose, for stacked runs: the ends of `ops/by_token.py`.

A row is divided by the number of places at every read: as 32-bit numbers and a constant, since a division of 64-bit numbers takes a
hundred instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

EXAMPLES = 64
"""Examples per program of `spread`, each of which is added up by one thread."""
WARPS = EXAMPLES // 32
COLUMNS = 32
"""Places that a program of `spread` copies at once."""
READS = 1024
"""Reads per program of `collect`."""


def spread(weight: Tensor, row: Tensor, tokens: int, places: int, width: int) -> Tensor:
    """out[n, v] = Σ of weight[n, t] over the places t that hold token v; out[n, tokens + t] = weight[n, t]; then zeros."""
    runs, examples, length = row.shape
    out = torch.zeros(runs, examples, width, device=weight.device)
    grid, sizes = (triton.cdiv(examples, EXAMPLES), runs), (examples, length, tokens, width)
    launch(
        _spread, grid, weight.contiguous(), row.contiguous(), out, *sizes, places, EXAMPLES, COLUMNS, num_warps=WARPS
    )
    return out


def collect(source: Tensor, row: Tensor, tokens: int, places: int) -> Tensor:
    """out[n, t] = source[n, token at t] + source[n, tokens + t]: the transpose of `spread`."""
    runs, examples, length = row.shape
    out = torch.empty(runs, examples, length, device=source.device)
    grid = (triton.cdiv(examples * length, READS), runs)
    sizes = (examples, length, tokens, source.shape[-1])
    launch(_collect, grid, source.contiguous(), row.contiguous(), out, *sizes, places, READS)
    return out


@triton.jit
def _spread(
    weight, row, out, examples, length, tokens, width,
    PLACES: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    alive = n < examples
    example = run * examples + n
    # No other thread adds to the sums of an example, and a thread adds its places one after another: the bits are the same every
    # time, though the additions are atomic. They are so because they leave the sum where it is, which no thread waits for.
    for place in range(0, length):
        token = tl.load(row + example * length + place, mask=alive, other=0).to(tl.int32) // PLACES
        w = tl.load(weight + example * length + place, mask=alive, other=0.0)
        tl.atomic_add(out + example * width + token, w, mask=alive, sem="relaxed")
    # places count back from the query, the last one
    own = out + example[:, None] * width + tokens + PLACES - length
    for begin in range(0, length, COLUMNS):
        t = begin + tl.arange(0, COLUMNS)
        there = alive[:, None] & (t < length)[None, :]
        w = tl.load(weight + example[:, None] * length + t[None, :], mask=there, other=0.0)
        tl.store(own + t[None, :], w, mask=there)


@triton.jit
def _collect(source, row, out, examples, length, tokens, width, PLACES: tl.constexpr, BLOCK: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    alive = i < examples * length
    r = tl.load(row + run * examples * length + i, mask=alive, other=0).to(tl.int32)
    own = source + (run * examples + i // length) * width
    found = tl.load(own + r // PLACES, mask=alive, other=0.0)
    found += tl.load(own + tokens + r % PLACES, mask=alive, other=0.0)
    tl.store(out + run * examples * length + i, found, mask=alive)
