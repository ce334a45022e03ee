"""Weights of reads summed by the token that they read, and the transpose, for stacked runs: the ends of `ops/by_token.py`.

One program per block of examples or reads: no atomics, deterministic results. A row is divided by the number of places at every
read: as 32-bit numbers and a constant, since a division of 64-bit numbers takes a hundred instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

EXAMPLES = 4
"""Examples per program of `spread`, which is one warp: its threads share what is read of an example, and each has four tokens."""
READS = 1024
"""Reads per program of `collect`."""


def spread(weight: Tensor, row: Tensor, tokens: int, places: int, width: int) -> Tensor:
    """out[n, v] = Σ of weight[n, t] over the places t that hold token v; out[n, tokens + t] = weight[n, t]; then zeros."""
    runs, examples, length = row.shape
    out = torch.empty(runs, examples, width, device=weight.device)
    columns, others = (int(triton.next_power_of_2(count)) for count in (tokens, width - tokens))
    launch(
        _spread, (triton.cdiv(examples, EXAMPLES), runs),
        weight.contiguous(), row.contiguous(), out, examples, length, tokens, width, places, EXAMPLES, columns, others,
        num_warps=1,
    )  # fmt: skip
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
    PLACES: tl.constexpr, BLOCK: tl.constexpr, TOKENS: tl.constexpr, OTHERS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.arange(0, TOKENS)
    t = tl.arange(0, OTHERS)
    alive = n < examples
    example = run * examples + n
    total = tl.zeros((BLOCK, TOKENS), dtype=tl.float32)
    for place in range(0, length):
        token = tl.load(row + example * length + place, mask=alive, other=0).to(tl.int32) // PLACES
        w = tl.load(weight + example * length + place, mask=alive, other=0.0)
        total += tl.where(v[None, :] == token[:, None], w[:, None], 0.0)
    inside = alive[:, None] & (v < tokens)[None, :]
    tl.store(out + example[:, None] * width + v[None, :], total, mask=inside)
    # places count back from the query, the last one
    own = t - (PLACES - length)
    there = alive[:, None] & ((own >= 0) & (own < length))[None, :]
    w = tl.load(weight + example[:, None] * length + own[None, :], mask=there, other=0.0)
    inside = alive[:, None] & (t < width - tokens)[None, :]
    tl.store(out + example[:, None] * width + tokens + t[None, :], w, mask=inside)


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
