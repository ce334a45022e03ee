"""Weighted look-ups and their transpose in Triton, for one run or for stacked runs, each with its own table.

One program per block of examples or per table row: no atomics, deterministic results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from torch import Tensor


EXAMPLES = 16
"""Examples per program; measured on an H200, as are the block sizes of `row_sums`."""
TOKENS = 32
"""Tokens per program of `added_backward`."""
ROWS = 4
"""Rows per program of `row_sums`: starting a program costs as much as a short row."""


def gather(table: Tensor, row: Tensor) -> Tensor:
    """out[n, t] = table[row[n, t]]"""
    (rows, width), (examples, positions) = table.shape[-2:], row.shape[-2:]
    out = torch.empty(*row.shape, width, device=table.device, dtype=table.dtype)
    table, row = table.contiguous(), row.contiguous()
    columns = _columns(width)
    block = max(1, 1024 // columns)
    grid = (triton.cdiv(examples * positions, block), _runs(row))
    _gather[grid](table, row, out, examples * positions, rows, width, block, columns)
    return out


def pool_forward(table: Tensor, weight: Tensor, row: Tensor) -> Tensor:
    """out[n] = Σ_t weight[n, t] · table[row[n, t]]"""
    (rows, width), (examples, positions) = table.shape[-2:], row.shape[-2:]
    out = torch.empty(*row.shape[:-1], width, device=table.device, dtype=table.dtype)
    table, weight, row = table.contiguous(), weight.contiguous(), row.contiguous()
    grid = (triton.cdiv(examples, EXAMPLES), _runs(row))
    _pool_forward[grid](table, weight, row, out, examples, rows, width, positions, EXAMPLES, _columns(width))
    return out


def pool_weight_backward(grad: Tensor, table: Tensor, row: Tensor) -> Tensor:
    """out[n, t] = grad[n] · table[row[n, t]]"""
    (rows, width), (examples, positions) = table.shape[-2:], row.shape[-2:]
    out = torch.empty(row.shape, device=table.device)
    grad, table, row = grad.contiguous(), table.contiguous(), row.contiguous()
    grid = (triton.cdiv(examples, EXAMPLES), _runs(row))
    _pool_weight_backward[grid](grad, table, row, out, examples, rows, width, positions, EXAMPLES, _columns(width))
    return out


def distances(table: Tensor, point: Tensor, row: Tensor) -> Tensor:
    """out[n, t] = ‖table[row[n, t]] − point[n]‖"""
    (rows, width), (examples, positions) = table.shape[-2:], row.shape[-2:]
    out = torch.empty(row.shape, device=table.device)
    table, point, row = table.contiguous(), point.contiguous(), row.contiguous()
    grid = (triton.cdiv(examples, EXAMPLES), _runs(row))
    _distances[grid](table, point, row, out, examples, rows, width, positions, EXAMPLES, _columns(width))
    return out


def added(token: Tensor, place: Tensor) -> Tensor:
    """out[v · positions + t] = token[v] + place[t], for stacked runs."""
    (runs, tokens, width), positions = token.shape, place.shape[1]
    out = torch.empty(runs, tokens * positions, width, device=token.device)
    sizes = (tokens, width, positions, _columns(positions), _columns(width))
    _added[(tokens, runs)](token.contiguous(), place.contiguous(), out, *sizes)
    return out


def added_backward(grad: Tensor, tokens: int) -> tuple[Tensor, Tensor]:
    """The transpose of `added`: sums over positions and over tokens."""
    runs, rows, width = grad.shape
    positions = rows // tokens
    to_token = torch.empty(runs, tokens, width, device=grad.device)
    parts = triton.cdiv(tokens, TOKENS)
    to_place = torch.empty(runs, parts, positions, width, device=grad.device)
    sizes = (tokens, width, positions, TOKENS, _columns(positions), _columns(width))
    _added_backward[(parts, runs)](grad.contiguous(), to_token, to_place, *sizes)
    return to_token, to_place.sum(1)


def row_sums(source: Tensor, order: Tensor, starts: Tensor, weight: Tensor | None, positions: int) -> Tensor:
    """out[m] = Σ over reads r of row m of weight[r] · source[r // positions]; weight None is 1. Sums are float32.

    The query's row is read by every example: where few runs leave the device idle, several programs share each row."""
    rows, reads, width, runs = starts.shape[-1], order.shape[-1], source.shape[-1], _runs(order, 1)
    shares = max(1, min(16, 128 // runs))
    out = torch.empty(shares, *starts.shape, width, device=source.device)
    source, order, starts = source.contiguous(), order.contiguous(), starts.contiguous()
    factors = source if weight is None else weight.contiguous()
    block, warps = (64, 2) if width >= 16 else (128, 1)
    sizes = (rows, reads, width, positions, shares, ROWS, weight is not None, block, _columns(width))
    grid = (triton.cdiv(rows, ROWS), runs, shares)
    _row_sums[grid](source, order, starts, factors, out, *sizes, num_warps=warps)
    return out.sum(0) if shares > 1 else out[0]


def _columns(width: int) -> int:
    """Triton blocks are powers of two."""
    return int(triton.next_power_of_2(width))


def _runs(tensor: Tensor, own: int = 2) -> int:
    """How many runs are stacked, where one run's tensor has `own` axes."""
    return tensor.shape[0] if tensor.ndim > own else 1


@triton.jit
def _gather(table, row, out, reads, rows, width, BLOCK: tl.constexpr, COLUMNS: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, COLUMNS)
    alive = n < reads
    inside = alive[:, None] & (c < width)[None, :]
    r = run * rows + tl.load(row + run * reads + n, mask=alive, other=0)
    v = tl.load(table + r[:, None] * width + c[None, :], mask=inside, other=0.0)
    tl.store(out + (run * reads + n)[:, None] * width + c[None, :], v, mask=inside)


@triton.jit
def _pool_forward(
    table, weight, row, out, examples, rows, width,
    positions: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, COLUMNS)
    alive = n < examples
    example = run * examples + n
    inside = alive[:, None] & (c < width)[None, :]
    total = tl.zeros((BLOCK, COLUMNS), dtype=tl.float32)
    for t in range(positions):
        r = run * rows + tl.load(row + example * positions + t, mask=alive, other=0)
        w = tl.load(weight + example * positions + t, mask=alive, other=0.0)
        total += w[:, None] * tl.load(table + r[:, None] * width + c[None, :], mask=inside, other=0.0)
    tl.store(out + example[:, None] * width + c[None, :], total, mask=inside)


@triton.jit
def _pool_weight_backward(
    grad, table, row, out, examples, rows, width,
    positions: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, COLUMNS)
    alive = n < examples
    example = run * examples + n
    inside = alive[:, None] & (c < width)[None, :]
    g = tl.load(grad + example[:, None] * width + c[None, :], mask=inside, other=0.0).to(tl.float32)
    for t in range(positions):
        r = run * rows + tl.load(row + example * positions + t, mask=alive, other=0)
        v = tl.load(table + r[:, None] * width + c[None, :], mask=inside, other=0.0)
        tl.store(out + example * positions + t, tl.sum(g * v, 1), mask=alive)


@triton.jit
def _distances(
    table, point, row, out, examples, rows, width,
    positions: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, COLUMNS)
    alive = n < examples
    example = run * examples + n
    inside = alive[:, None] & (c < width)[None, :]
    h = tl.load(point + example[:, None] * width + c[None, :], mask=inside, other=0.0)
    for t in range(positions):
        r = run * rows + tl.load(row + example * positions + t, mask=alive, other=0)
        v = tl.load(table + r[:, None] * width + c[None, :], mask=inside, other=0.0)
        tl.store(out + example * positions + t, tl.sqrt(tl.sum((v - h) * (v - h), 1)), mask=alive)


@triton.jit
def _added(token, place, out, tokens, width, positions, PLACES: tl.constexpr, COLUMNS: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    v = tl.program_id(0)
    t = tl.arange(0, PLACES)
    c = tl.arange(0, COLUMNS)
    inside = (t < positions)[:, None] & (c < width)[None, :]
    own = tl.load(token + (run * tokens + v) * width + c, mask=c < width, other=0.0)
    p = tl.load(place + (run * positions + t)[:, None] * width + c[None, :], mask=inside, other=0.0)
    at = ((run * tokens + v) * positions + t)[:, None] * width + c[None, :]
    tl.store(out + at, own[None, :] + p, mask=inside)


@triton.jit
def _added_backward(
    grad, to_token, to_place, tokens, width, positions,
    TOKENS: tl.constexpr, PLACES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    part = tl.program_id(0)
    t = tl.arange(0, PLACES)
    c = tl.arange(0, COLUMNS)
    inside = (t < positions)[:, None] & (c < width)[None, :]
    total = tl.zeros((PLACES, COLUMNS), dtype=tl.float32)
    for v in range(part * TOKENS, min(part * TOKENS + TOKENS, tokens)):
        at = ((run * tokens + v) * positions + t)[:, None] * width + c[None, :]
        g = tl.load(grad + at, mask=inside, other=0.0)
        tl.store(to_token + (run * tokens + v) * width + c, tl.sum(g, 0), mask=c < width)
        total += g
    at = ((run * tl.num_programs(0) + part) * positions + t)[:, None] * width + c[None, :]
    tl.store(to_place + at, total, mask=inside)


@triton.jit
def _row_sums(
    source, order, starts, weight, out, rows, reads, width, positions, shares,
    ROWS: tl.constexpr, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    share = tl.program_id(2)
    all_runs = tl.num_programs(1).to(tl.int64)
    c = tl.arange(0, COLUMNS)
    sources = run * (reads // positions)
    # the query's row, the longest, comes first
    last = rows - 1 - tl.program_id(0) * ROWS
    for m in range(last, max(last - ROWS, -1), -1):
        begin = tl.load(starts + run * rows + m)
        end = tl.load(starts + run * rows + m + 1, mask=m + 1 < rows, other=reads)
        total = tl.zeros((COLUMNS,), dtype=tl.float32)
        for place in range(begin + share * BLOCK, end, shares * BLOCK):
            r = place + tl.arange(0, BLOCK)
            alive = r < end
            read = tl.load(order + run * reads + r, mask=alive, other=0)
            n = sources + read // positions
            inside = alive[:, None] & (c < width)[None, :]
            v = tl.load(source + n[:, None] * width + c[None, :], mask=inside, other=0.0).to(tl.float32)
            if WEIGHTED:
                v = v * tl.load(weight + run * reads + read, mask=alive, other=0.0)[:, None]
            total += tl.sum(v, 0)
        tl.store(out + ((share * all_runs + run) * rows + m) * width + c, total, mask=c < width)
