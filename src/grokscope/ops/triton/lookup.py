"""Weighted look-ups and their transpose in Triton, for one run or for stacked runs, each with its own table.

One program per block of examples or per table row: no atomics, deterministic results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor


EXAMPLES = 16
"""Examples per program; measured on an H200, as are the block sizes of `row_sums`."""
FEW = 32
"""Runs below which a device is not filled by one program per run and block."""
ROWS = 4
"""Rows per program of `row_sums`: starting a program costs as much as a short row."""
SHARES = 16
"""Most programs that share a long row of `row_sums`."""
WIDEST = 128
"""Most columns per program of `row_sums`: a sum of 256 does not fit into its registers."""
LONG, LONGEST = 8, 16
"""Blocks of reads above which a row counts as long, and how many such rows of a run are shared."""
MOST_ROWS = 1024
"""Rows of a table whose long ones are shared: every program looks at all of them, and the compiler unrolls that."""


def gather(table: Tensor, row: Tensor) -> Tensor:
    """out[n, t] = table[row[n, t]]"""
    (rows, width), (examples, positions) = table.shape[-2:], row.shape[-2:]
    out = torch.empty(*row.shape, width, device=table.device, dtype=table.dtype)
    table, row = table.contiguous(), row.contiguous()
    columns = _columns(width)
    block = max(1, 1024 // columns)
    grid = (triton.cdiv(examples * positions, block), _runs(row))
    launch(_gather, grid, table, row, out, examples * positions, rows, width, block, columns)
    return out


def pool_forward(table: Tensor, weight: Tensor, row: Tensor) -> Tensor:
    """out[n] = Σ_t weight[n, t] · table[row[n, t]]; with weights [n, head, t], of each head's share of the columns."""
    (rows, width), (examples, positions) = table.shape[-2:], row.shape[-2:]
    heads = weight.shape[-2] if weight.ndim > row.ndim else 1
    out = torch.empty(*row.shape[:-1], width, device=table.device, dtype=table.dtype)
    table, weight, row = table.contiguous(), weight.contiguous(), row.contiguous()
    block = EXAMPLES * _columns(heads)
    grid = (triton.cdiv(examples, block), _runs(row), heads)
    launch(
        _pool_forward, grid,
        table, weight, row, out, examples, rows, width // heads, positions, heads, block, _columns(width // heads),
    )  # fmt: skip
    return out


def pool_weight_backward(grad: Tensor, table: Tensor, row: Tensor, heads: int = 0) -> Tensor:
    """out[n, t] = grad[n] · table[row[n, t]]; with heads, out[n, head, t] over each head's share of the columns."""
    (rows, width), (examples, positions), own = table.shape[-2:], row.shape[-2:], max(heads, 1)
    out = torch.empty((*row.shape[:-1], heads, positions) if heads else row.shape, device=table.device)
    grad, table, row = grad.contiguous(), table.contiguous(), row.contiguous()
    block = EXAMPLES * _columns(own)
    grid = (triton.cdiv(examples, block), _runs(row), own)
    launch(
        _pool_weight_backward, grid,
        grad, table, row, out, examples, rows, width // own, positions, own, block, _columns(width // own),
    )  # fmt: skip
    return out


def distances(table: Tensor, point: Tensor, row: Tensor) -> Tensor:
    """out[n, t] = ‖table[row[n, t]] − point[n]‖"""
    (rows, width), (examples, positions) = table.shape[-2:], row.shape[-2:]
    out = torch.empty(row.shape, device=table.device)
    table, point, row = table.contiguous(), point.contiguous(), row.contiguous()
    grid = (triton.cdiv(examples, EXAMPLES), _runs(row))
    launch(_distances, grid, table, point, row, out, examples, rows, width, positions, EXAMPLES, _columns(width))
    return out


def added(token: Tensor, place: Tensor, kind: torch.dtype) -> Tensor:
    """out[v · positions + t] = token[v] + place[t] as `kind`, for stacked runs."""
    (runs, tokens, width), positions = token.shape, place.shape[1]
    out = torch.empty(runs, tokens * positions, width, device=token.device, dtype=kind)
    sizes = (tokens, width, positions, _columns(positions), _columns(width))
    launch(_added, (tokens, runs), token.contiguous(), place.contiguous(), out, *sizes)
    return out


def added_backward(grad: Tensor, tokens: int) -> tuple[Tensor, Tensor]:
    """The transpose of `added`: sums over positions and over tokens."""
    runs, rows, width = grad.shape
    positions = rows // tokens
    to_token = torch.empty(runs, tokens, width, device=grad.device)
    own = 4 if runs < FEW else 32  # tokens per program
    parts = triton.cdiv(tokens, own)
    to_place = torch.empty(runs, parts, positions, width, device=grad.device)
    sizes = (tokens, width, positions, own, _columns(positions), _columns(width))
    launch(_added_backward, (parts, runs), grad.contiguous(), to_token, to_place, *sizes)
    return to_token, to_place.sum(1)


def row_sums(source: Tensor, order: Tensor, starts: Tensor, weight: Tensor | None, positions: int) -> Tensor:
    """out[m] = Σ over reads r of row m of weight[r] · source[r // positions]; weight None is 1; weights [n, head, t] are those of
    each head's share of the columns. Sums are float32.

    The query's row is read by every example: where few runs leave the device idle, further programs share the long rows. A large
    table has programs enough, and no row takes longer than the rest of a step.
    """
    rows, reads, runs = starts.shape[-1], order.shape[-1], _runs(order, 1)
    heads = 1 if weight is None else weight.numel() // order.numel()
    parts_of_head = _parts(source.shape[-1] // heads)
    heads *= parts_of_head  # from here on, each part of the columns is a head of its own, but for its weights
    width = source.shape[-1] // heads
    out = torch.empty(*starts.shape, source.shape[-1], device=source.device)
    source, order, starts = source.contiguous(), order.contiguous(), starts.contiguous()
    factors = source if weight is None else weight.contiguous()
    shares = max(1, min(SHARES, 128 // runs)) if rows <= MOST_ROWS else 1
    parts = torch.empty(runs, shares - 1, LONGEST, source.shape[-1], device=source.device) if shares > 1 else out
    block, warps = (64, 2) if width >= 16 else (128, 1)
    sizes = {
        "HEADS": heads,
        "COLUMNS": _columns(width),
        "EVERY": _columns(rows) if shares > 1 else 1,
        "LONG": LONG * block,
        "LONGEST": LONGEST,
    }
    launch(
        _row_sums, (triton.cdiv(rows, ROWS) + shares - 1, runs, heads),
        source, order, starts, factors, out, parts, rows, reads, width, positions,
        SHARES=shares, ROWS=ROWS, WEIGHTED=weight is not None, PARTS=parts_of_head, BLOCK=block, **sizes, num_warps=warps,
    )  # fmt: skip
    if shares > 1:
        launch(_add_shares, (runs, heads), starts, out, parts, rows, reads, width, shares - 1, **sizes)
    return out


def _parts(width: int) -> int:
    """The fewest equal parts of so many columns that a program can add up, none narrower than half of what it can; 1 if there are
    no such parts."""
    return next((parts for parts in range(1, width) if width % parts == 0 and WIDEST / 2 < width / parts <= WIDEST), 1)


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
    positions: tl.constexpr, HEADS: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    head = tl.program_id(2)
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, COLUMNS)
    alive = n < examples
    example = run * examples + n
    inside = alive[:, None] & (c < width)[None, :]
    column = head * width + c[None, :]
    total = tl.zeros((BLOCK, COLUMNS), dtype=tl.float32)
    for t in range(positions):
        r = run * rows + tl.load(row + example * positions + t, mask=alive, other=0)
        w = tl.load(weight + (example * HEADS + head) * positions + t, mask=alive, other=0.0)
        v = tl.load(table + r[:, None] * (HEADS * width) + column, mask=inside, other=0.0)
        total += w[:, None] * v
    tl.store(out + example[:, None] * (HEADS * width) + column, total, mask=inside)


@triton.jit
def _pool_weight_backward(
    grad, table, row, out, examples, rows, width,
    positions: tl.constexpr, HEADS: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    head = tl.program_id(2)
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, COLUMNS)
    alive = n < examples
    example = run * examples + n
    inside = alive[:, None] & (c < width)[None, :]
    column = head * width + c[None, :]
    g = tl.load(grad + example[:, None] * (HEADS * width) + column, mask=inside, other=0.0).to(tl.float32)
    for t in range(positions):
        r = run * rows + tl.load(row + example * positions + t, mask=alive, other=0)
        v = tl.load(table + r[:, None] * (HEADS * width) + column, mask=inside, other=0.0)
        tl.store(out + (example * HEADS + head) * positions + t, tl.sum(g * v, 1), mask=alive)


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
    tl.store(out + at, (own[None, :] + p).to(out.dtype.element_ty), mask=inside)


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
def _long_rows(starts, rows, reads, LONG: tl.constexpr, LONGEST: tl.constexpr, EVERY: tl.constexpr):
    """All rows, the number among the long ones (more than LONG reads) of each, and how many long ones count."""
    m = tl.arange(0, EVERY)
    begin = tl.load(starts + m, mask=m < rows, other=0)
    end = tl.load(starts + m + 1, mask=m + 1 < rows, other=reads)
    is_long = ((m < rows) & (end - begin > LONG)).to(tl.int32)
    number = tl.where(is_long > 0, tl.cumsum(is_long, 0) - 1, EVERY + LONGEST)
    return m, number, tl.minimum(tl.sum(is_long, 0), LONGEST)


@triton.jit
def _row_sum(
    source, order, weight, begin, end, first, step, run, head, reads, width, positions,
    WEIGHTED: tl.constexpr, PARTS: tl.constexpr, HEADS: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Σ over the blocks `first`, `first` + `step` … of the reads from `begin` to `end`."""
    c = tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), dtype=tl.float32)
    for place in range(begin + first * BLOCK, end, step * BLOCK):
        r = place + tl.arange(0, BLOCK)
        alive = r < end
        read = tl.load(order + run * reads + r, mask=alive, other=0)
        n = run * (reads // positions) + read // positions
        inside = alive[:, None] & (c < width)[None, :]
        own = n[:, None] * (HEADS * width) + head * width + c[None, :]
        v = tl.load(source + own, mask=inside, other=0.0).to(tl.float32)
        if WEIGHTED:
            own = (n * (HEADS // PARTS) + head // PARTS) * positions + read % positions
            v = v * tl.load(weight + own, mask=alive, other=0.0)[:, None]
        total += tl.sum(v, 0)
    return total


@triton.jit
def _row_sums(
    source, order, starts, weight, out, parts, rows, reads, width, positions,
    SHARES: tl.constexpr, ROWS: tl.constexpr, WEIGHTED: tl.constexpr, PARTS: tl.constexpr, LONG: tl.constexpr,
    LONGEST: tl.constexpr, HEADS: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr, EVERY: tl.constexpr,
):  # fmt: skip
    """The first programs of a run take a share each of its long rows; the others take the first share of the long rows among
    theirs, and all of the short ones."""
    run = tl.program_id(1).to(tl.int64)
    head = tl.program_id(2)
    c = tl.arange(0, COLUMNS)
    starts += run * rows
    of_rows = tl.program_id(0) - (SHARES - 1)
    if SHARES > 1:
        m, number, count = _long_rows(starts, rows, reads, LONG, LONGEST, EVERY)
        if of_rows < 0:
            share = SHARES + of_rows  # 1 … SHARES − 1
            for k in range(0, count):
                own = tl.sum(tl.where(number == k, m, 0), 0)
                begin = tl.load(starts + own)
                end = tl.load(starts + own + 1, mask=own + 1 < rows, other=reads)
                total = _row_sum(
                    source, order, weight, begin, end, share, SHARES, run, head, reads, width, positions,
                    WEIGHTED, PARTS, HEADS, BLOCK, COLUMNS,
                )  # fmt: skip
                at = (((run * (SHARES - 1) + share - 1) * LONGEST + k) * HEADS + head) * width
                tl.store(parts + at + c, total, mask=c < width)
    if of_rows >= 0:
        # the query's row, the longest, comes first
        last = rows - 1 - of_rows * ROWS
        for own in range(last, max(last - ROWS, -1), -1):
            begin = tl.load(starts + own)
            end = tl.load(starts + own + 1, mask=own + 1 < rows, other=reads)
            step = 1
            if SHARES > 1:
                step = tl.where(tl.sum(tl.where(m == own, number, 0), 0) < LONGEST, SHARES, 1)
            total = _row_sum(
                source, order, weight, begin, end, 0, step, run, head, reads, width, positions,
                WEIGHTED, PARTS, HEADS, BLOCK, COLUMNS,
            )  # fmt: skip
            tl.store(out + ((run * rows + own) * HEADS + head) * width + c, total, mask=c < width)


@triton.jit
def _add_shares(
    starts, out, parts, rows, reads, width, shares,
    LONG: tl.constexpr, LONGEST: tl.constexpr, HEADS: tl.constexpr, COLUMNS: tl.constexpr, EVERY: tl.constexpr,
):  # fmt: skip
    """Add the other shares of the long rows to the first one."""
    run = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    c = tl.arange(0, COLUMNS)
    m, number, count = _long_rows(starts + run * rows, rows, reads, LONG, LONGEST, EVERY)
    for k in range(0, count):
        own = tl.sum(tl.where(number == k, m, 0), 0)
        at = out + ((run * rows + own) * HEADS + head) * width + c
        total = tl.load(at, mask=c < width, other=0.0)
        for share in range(0, shares):
            part = (((run * shares + share) * LONGEST + k) * HEADS + head) * width
            total += tl.load(parts + part + c, mask=c < width, other=0.0)
        tl.store(at, total, mask=c < width)
