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
FEW = 32
"""Runs below which a device is not filled by one program per run and block."""
ROWS = 4
"""Rows per program of `row_sums`: starting a program costs as much as a short row."""
SHARES = 16
"""Most programs that share a long row of `row_sums`."""


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
    """out[n] = Σ_t weight[n, t] · table[row[n, t]]; with weights [n, head, t], of each head's share of the columns."""
    (rows, width), (examples, positions), heads = table.shape[-2:], row.shape[-2:], _heads(weight, row)
    out = torch.empty(*row.shape[:-1], width, device=table.device, dtype=table.dtype)
    table, weight, row = table.contiguous(), weight.contiguous(), row.contiguous()
    grid = (triton.cdiv(examples, EXAMPLES), _runs(row))
    _pool_forward[grid](table, weight, row, out, examples, rows, width, positions, heads, EXAMPLES, _columns(width))
    return out


def pool_weight_backward(grad: Tensor, table: Tensor, row: Tensor, heads: int = 0) -> Tensor:
    """out[n, t] = grad[n] · table[row[n, t]]; with heads, out[n, head, t] over each head's share of the columns."""
    (rows, width), (examples, positions) = table.shape[-2:], row.shape[-2:]
    shape = (*row.shape[:-1], heads, positions) if heads else row.shape
    out = torch.empty(shape, device=table.device)
    grad, table, row = grad.contiguous(), table.contiguous(), row.contiguous()
    grid = (triton.cdiv(examples, EXAMPLES), _runs(row))
    _pool_weight_backward[grid](
        grad, table, row, out, examples, rows, width, positions, max(heads, 1), EXAMPLES, _columns(width)
    )
    return out


def splits_into(heads: int, width: int) -> bool:
    """Whether the kernels can split rows of this width into heads: blocks are powers of two."""
    return _columns(width) == width and _columns(heads) == heads


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
    own = 4 if runs < FEW else 32  # tokens per program
    parts = triton.cdiv(tokens, own)
    to_place = torch.empty(runs, parts, positions, width, device=grad.device)
    sizes = (tokens, width, positions, own, _columns(positions), _columns(width))
    _added_backward[(parts, runs)](grad.contiguous(), to_token, to_place, *sizes)
    return to_token, to_place.sum(1)


def row_sums(source: Tensor, order: Tensor, starts: Tensor, weight: Tensor | None, positions: int) -> Tensor:
    """out[m] = Σ over reads r of row m of weight[r] · source[r // positions]; weight None is 1; weights [n, head, t] are those of
    each head's share of the columns. Sums are float32.

    The query's row is read by every example: where few runs leave the device idle, further programs share the long rows."""
    rows, reads, width, runs = starts.shape[-1], order.shape[-1], source.shape[-1], _runs(order, 1)
    shares = max(1, min(SHARES, 128 // runs))
    out = torch.empty(shares, *starts.shape, width, device=source.device)
    source, order, starts = source.contiguous(), order.contiguous(), starts.contiguous()
    factors = source if weight is None else weight.contiguous()
    block, warps = (64, 2) if width >= 16 else (128, 1)
    tensors, columns = (source, order, starts, factors, out), _columns(width)
    sizes = (rows, reads, width, positions, shares)
    heads = 1 if weight is None else weight.numel() // order.numel()
    of = {"WEIGHTED": weight is not None, "HEADS": heads, "BLOCK": block, "COLUMNS": columns}
    _row_sums[(triton.cdiv(rows, ROWS), runs, 1)](*tensors, *sizes, FIRST=0, ROWS=ROWS, **of, num_warps=warps)
    if shares == 1:
        return out[0]
    # most rows have nothing to share: a program looks at many
    _row_sums[(triton.cdiv(rows, 8 * ROWS), runs, shares - 1)](
        *tensors, *sizes, FIRST=1, ROWS=8 * ROWS, **of, num_warps=warps
    )
    whole = torch.empty(*starts.shape, width, device=source.device)
    many = max(1, 512 // columns)
    _shares_added[(triton.cdiv(rows, many), runs)](
        out, starts, whole, rows, reads, width, shares, ROWS=many, BLOCK=block, COLUMNS=columns
    )
    return whole


def _heads(weight: Tensor, row: Tensor) -> int:
    return weight.shape[-2] if weight.ndim > row.ndim else 1


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
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, COLUMNS)
    alive = n < examples
    example = run * examples + n
    inside = alive[:, None] & (c < width)[None, :]
    total = tl.zeros((BLOCK, COLUMNS), dtype=tl.float32)
    for t in range(positions):
        r = run * rows + tl.load(row + example * positions + t, mask=alive, other=0)
        if HEADS == 1:
            w = tl.load(weight + example * positions + t, mask=alive, other=0.0)[:, None]
        else:
            head = (c // (COLUMNS // HEADS))[None, :]
            w = tl.load(weight + (example[:, None] * HEADS + head) * positions + t, mask=inside, other=0.0)
        total += w * tl.load(table + r[:, None] * width + c[None, :], mask=inside, other=0.0)
    tl.store(out + example[:, None] * width + c[None, :], total, mask=inside)


@triton.jit
def _pool_weight_backward(
    grad, table, row, out, examples, rows, width,
    positions: tl.constexpr, HEADS: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
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
        if HEADS == 1:
            tl.store(out + example * positions + t, tl.sum(g * v, 1), mask=alive)
        else:
            each = tl.sum(tl.reshape(g * v, (BLOCK, HEADS, COLUMNS // HEADS)), 2)
            place = example[:, None] * HEADS + tl.arange(0, HEADS)[None, :]
            tl.store(out + place * positions + t, each, mask=alive[:, None])


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
    FIRST: tl.constexpr, ROWS: tl.constexpr, WEIGHTED: tl.constexpr, HEADS: tl.constexpr, BLOCK: tl.constexpr,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    """Share `FIRST` or a later one of each row: every `shares`-th block of its reads. A later share of a short row is empty, and
    is not written."""
    run = tl.program_id(1).to(tl.int64)
    share = FIRST + tl.program_id(2)
    all_runs = tl.num_programs(1).to(tl.int64)
    c = tl.arange(0, COLUMNS)
    sources = run * (reads // positions)
    # the query's row, the longest, comes first
    last = rows - 1 - tl.program_id(0) * ROWS
    for m in range(last, max(last - ROWS, -1), -1):
        begin = tl.load(starts + run * rows + m)
        end = tl.load(starts + run * rows + m + 1, mask=m + 1 < rows, other=reads)
        if FIRST == 0 or begin + share * BLOCK < end:
            total = tl.zeros((COLUMNS,), dtype=tl.float32)
            for place in range(begin + share * BLOCK, end, shares * BLOCK):
                r = place + tl.arange(0, BLOCK)
                alive = r < end
                read = tl.load(order + run * reads + r, mask=alive, other=0)
                n = sources + read // positions
                inside = alive[:, None] & (c < width)[None, :]
                v = tl.load(source + n[:, None] * width + c[None, :], mask=inside, other=0.0).to(tl.float32)
                if WEIGHTED:
                    if HEADS == 1:
                        v = v * tl.load(weight + run * reads + read, mask=alive, other=0.0)[:, None]
                    else:
                        head = (c // (COLUMNS // HEADS))[None, :]
                        place = (n[:, None] * HEADS + head) * positions + (read % positions)[:, None]
                        v = v * tl.load(weight + place, mask=inside, other=0.0)
                total += tl.sum(v, 0)
            tl.store(out + ((share * all_runs + run) * rows + m) * width + c, total, mask=c < width)


@triton.jit
def _shares_added(
    parts, starts, out, rows, reads, width, shares, ROWS: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr
):
    """The sum of the shares of each row that were written."""
    run = tl.program_id(1).to(tl.int64)
    all_runs = tl.num_programs(1).to(tl.int64)
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLUMNS)
    begin = tl.load(starts + run * rows + m, mask=m < rows, other=0)
    end = tl.load(starts + run * rows + m + 1, mask=m + 1 < rows, other=reads)
    inside = (m < rows)[:, None] & (c < width)[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for share in range(shares):
        written = (begin + share * BLOCK < end) | (share == 0)
        place = ((share * all_runs + run) * rows + m)[:, None] * width + c[None, :]
        total += tl.load(parts + place, mask=inside & written[:, None], other=0.0)
    tl.store(out + (run * rows + m)[:, None] * width + c[None, :], total, mask=inside)
