"""Weighted look-ups and their transpose in Triton.

One program a block of examples, or a table row: no atomics, the same bits every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from torch import Tensor


EXAMPLES = 16
"""Examples a program; measured on an H200, as are the block sizes of `row_sums`."""


def pool_forward(table: Tensor, weight: Tensor, index: Tensor) -> Tensor:
    """out[n] = Σ_t weight[n, t] · table[index[n, t]]"""
    (examples, positions), width = index.shape, table.shape[1]
    out = torch.empty(examples, width, device=table.device, dtype=table.dtype)
    table, weight, index = table.contiguous(), weight.contiguous(), index.contiguous()
    grid = (triton.cdiv(examples, EXAMPLES),)
    _pool_forward[grid](table, weight, index, out, examples, width, positions, EXAMPLES, _columns(width))
    return out


def pool_weight_backward(grad: Tensor, table: Tensor, index: Tensor) -> Tensor:
    """out[n, t] = grad[n] · table[index[n, t]]"""
    (examples, positions), width = index.shape, table.shape[1]
    out = torch.empty(examples, positions, device=table.device, dtype=table.dtype)
    grad, table, index = grad.contiguous(), table.contiguous(), index.contiguous()
    grid = (triton.cdiv(examples, EXAMPLES),)
    _pool_weight_backward[grid](grad, table, index, out, examples, width, positions, EXAMPLES, _columns(width))
    return out


def row_sums(source: Tensor, order: Tensor, starts: Tensor, weight: Tensor | None, positions: int) -> Tensor:
    """out[m] = Σ over reads r of row m of weight[r] · source[r // positions]; weight None is 1."""
    rows, reads, width = starts.shape[0], order.shape[0], source.shape[1]
    out = torch.empty(rows, width, device=source.device, dtype=source.dtype)
    source = source.contiguous()
    factors = source if weight is None else weight.contiguous()
    block, warps = (64, 2) if width >= 16 else (128, 1)
    sizes = (rows, reads, width, positions, weight is not None, block, _columns(width))
    _row_sums[(rows,)](source, order, starts, factors, out, *sizes, num_warps=warps)
    return out


def _columns(width: int) -> int:
    """Triton blocks are powers of two."""
    return int(triton.next_power_of_2(width))


@triton.jit
def _pool_forward(
    table, weight, index, out, examples, width,
    positions: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, COLUMNS)
    alive = n < examples
    inside = alive[:, None] & (c < width)[None, :]
    total = tl.zeros((BLOCK, COLUMNS), dtype=tl.float32)
    for t in range(positions):
        row = tl.load(index + n * positions + t, mask=alive, other=0)
        w = tl.load(weight + n * positions + t, mask=alive, other=0.0)
        total += w[:, None] * tl.load(table + row[:, None] * width + c[None, :], mask=inside, other=0.0)
    tl.store(out + n[:, None] * width + c[None, :], total, mask=inside)


@triton.jit
def _pool_weight_backward(
    grad, table, index, out, examples, width,
    positions: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, COLUMNS)
    alive = n < examples
    inside = alive[:, None] & (c < width)[None, :]
    g = tl.load(grad + n[:, None] * width + c[None, :], mask=inside, other=0.0)
    for t in range(positions):
        row = tl.load(index + n * positions + t, mask=alive, other=0)
        v = tl.load(table + row[:, None] * width + c[None, :], mask=inside, other=0.0)
        tl.store(out + n * positions + t, tl.sum(g * v, 1), mask=alive)


@triton.jit
def _row_sums(
    source, order, starts, weight, out, rows, reads, width, positions,
    WEIGHTED: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, COLUMNS)
    begin = tl.load(starts + m)
    end = tl.load(starts + m + 1, mask=m + 1 < rows, other=reads)
    total = tl.zeros((COLUMNS,), dtype=tl.float32)
    for place in range(begin, end, BLOCK):
        r = place + tl.arange(0, BLOCK)
        alive = r < end
        read = tl.load(order + r, mask=alive, other=0)
        n = read // positions
        inside = alive[:, None] & (c < width)[None, :]
        v = tl.load(source + n[:, None] * width + c[None, :], mask=inside, other=0.0)
        if WEIGHTED:
            v = v * tl.load(weight + read, mask=alive, other=0.0)[:, None]
        total += tl.sum(v, 0)
    tl.store(out + m * width + c, total, mask=c < width)
