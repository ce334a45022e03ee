"""Batched products whose result is changed before it is written: the ReLU of the hidden layer, and its gradient.

A separate pass of [example hidden] through memory costs as much as the product itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

TILES = {
    (torch.float32, False): {"ROWS": 128, "COLUMNS": 128, "DEPTH": 32, "num_warps": 4, "num_stages": 3},
    (torch.float32, True): {"ROWS": 64, "COLUMNS": 128, "DEPTH": 32, "num_warps": 4, "num_stages": 3},
    (torch.bfloat16, False): {"ROWS": 64, "COLUMNS": 128, "DEPTH": 64, "num_warps": 4, "num_stages": 2},
    (torch.bfloat16, True): {"ROWS": 64, "COLUMNS": 128, "DEPTH": 64, "num_warps": 4, "num_stages": 2},
}
"""Sizes of a tile and compile options, of products without and with a mask; measured on an H200 (d 128, 512 hidden units)."""


def relu_product(a: Tensor, b: Tensor, plus: Tensor | None = None) -> Tensor:
    """relu(a bᵀ + plus) of each run; products of float32 are TF32.

    a      [run row depth]
    b      [run column depth]; a transposed bf16 matrix is read as it is, matrix units read float32 by rows only
    plus   [run column], or nothing
    """
    return _launch(a, b, None, plus, False)[0]


def masked_product(a: Tensor, b: Tensor, of: Tensor, sums: bool = False) -> tuple[Tensor, Tensor | None]:
    """a bᵀ of each run where `of` [run row column] is above 0, else 0; with `sums`, also its sums over the rows, in float32."""
    out, parts = _launch(a, b, of, None, sums)
    return out, None if parts is None else parts.sum(1)


def _launch(
    a: Tensor, b: Tensor, of: Tensor | None, plus: Tensor | None, sums: bool
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """The product, and the sums over the rows of each tile [run tile column]."""
    a, b = a.contiguous(), read_where_it_lies(b)
    (runs, rows, depth), columns = a.shape, b.shape[1]
    out = torch.empty(runs, rows, columns, device=a.device, dtype=a.dtype)
    how = TILES[a.dtype, of is not None]
    down, across = triton.cdiv(rows, how["ROWS"]), triton.cdiv(columns, how["COLUMNS"])
    parts = torch.empty(runs, down, columns, device=a.device) if sums else None
    launch(
        _product, (runs * down * across,),
        a, b, out if of is None else of, out if plus is None else plus.contiguous(), out, out if parts is None else parts,
        rows, columns, depth, *b.stride(), MASK=of is not None, PLUS=plus is not None, SUMS=sums, **how,
    )  # fmt: skip
    return out, parts


def read_where_it_lies(b: Tensor) -> Tensor:
    """b, or a copy of it that matrix units can read faster."""
    return b if _read_there(b) else b.contiguous()


def _read_there(b: Tensor) -> bool:
    """Whether b is read where it lies: by rows, or across in bf16, if all of them begin as those of a tensor of its own would.
    A weight is a part of the vector of all weights of a run."""
    by_rows = b.stride(2) == 1
    across = b.dtype != torch.float32 and b.stride(1) == 1 and b.stride(2) % 16 == 0
    return b.stride(0) % 16 == 0 and b.data_ptr() % 16 == 0 and (by_rows or across)


@triton.jit
def _product(
    a_in, b_in, of, plus, out, sums, rows, columns, depth, b_run, b_column, b_depth,
    MASK: tl.constexpr, PLUS: tl.constexpr, SUMS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(columns, COLUMNS)
    tiles = tl.cdiv(rows, ROWS) * across
    run = (tl.program_id(0) // tiles).to(tl.int64)
    tile = tl.program_id(0) % tiles
    n = (tile // across) * ROWS + tl.arange(0, ROWS)
    m = (tile % across) * COLUMNS + tl.arange(0, COLUMNS)
    k = tl.arange(0, DEPTH)
    a = a_in + run * rows * depth + n[:, None] * depth + k[None, :]
    b = b_in + run * b_run + m[:, None] * b_column + k[None, :] * b_depth
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, depth, DEPTH):
        left = k[None, :] < depth - first
        own = tl.load(a + first, mask=(n < rows)[:, None] & left, other=0.0)
        other = tl.load(b + first * b_depth, mask=(m < columns)[:, None] & left, other=0.0)
        total = tl.dot(own, tl.trans(other), total, input_precision="tf32")
    inside = (n < rows)[:, None] & (m < columns)[None, :]
    place = run * rows * columns + n[:, None] * columns + m[None, :]
    if PLUS:
        total += tl.load(plus + run * columns + m, mask=m < columns, other=0.0).to(tl.float32)[None, :]
    if MASK:  # noqa: SIM108  decided when it is compiled
        total = tl.where(tl.load(of + place, mask=inside, other=0.0) > 0, total, 0.0)
    else:
        total = tl.maximum(total, 0.0)
    tl.store(out + place, total.to(out.dtype.element_ty), mask=inside)
    if SUMS:
        part = run * tl.cdiv(rows, ROWS) + tile // across
        tl.store(sums + part * columns + m, tl.sum(total, 0), mask=m < columns)
