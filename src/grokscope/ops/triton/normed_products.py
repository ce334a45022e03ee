"""The products of an MLP whose input is normalised, with the norm and its gradient inside them.

A program has whole vectors: the norm takes no pass through memory of its own, nor does the gradient on what it returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch
from .normalise import normal, to_vectors
from .products import read_where_it_lies

if TYPE_CHECKING:
    from torch import Tensor

WIDEST = 128
"""Numbers of a vector, at most: all of them are in the registers of a program."""
TILES = {
    torch.float32: {"ROWS": 64, "COLUMNS": 64, "DEPTH": 32, "num_warps": 4},
    torch.bfloat16: {"ROWS": 64, "COLUMNS": 128, "DEPTH": 64, "num_warps": 4},
}
"""Rows of a program, columns of the product that it computes at once, and how much of a long sum is read at once."""
AHEAD = {torch.float32: 1, torch.bfloat16: 2}
"""Tiles of b that are read ahead: in float32 two would leave room for one program per processor of an H200 alone."""


def normed_relu_product(
    x: Tensor, b: Tensor, centre: bool, epsilon: float, plus: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """z, which is x normalised, 1/s of each vector, and relu(z bᵀ + plus) of each run; products of float32 are TF32.

    x      [run row d]
    b      [run column d]
    plus   [run column], or nothing
    """
    x, b = x.contiguous(), read_where_it_lies(b)
    (runs, rows, d), columns = x.shape, b.shape[1]
    z, slope = torch.empty_like(x), torch.empty(runs, rows, 1, device=x.device)
    out = torch.empty(runs, rows, columns, device=x.device, dtype=x.dtype)
    how = {**TILES[x.dtype], "DEPTH": _whole(d)}
    launch(
        _normed_relu, (runs * triton.cdiv(rows, how["ROWS"]),),
        x, b, out if plus is None else plus.contiguous(), z, slope, out,
        rows, columns, d, *b.stride(), epsilon, CENTRE=centre, PLUS=plus is not None, num_stages=AHEAD[x.dtype], **how,
    )  # fmt: skip
    return z, slope, out


def normed_product_backward(a: Tensor, b: Tensor, z: Tensor, slope: Tensor, centre: bool, onto: Tensor) -> Tensor:
    """`onto` with the gradient on x added in place, where that on z is a bᵀ of each run.

    a          [run row depth]
    b          [run d depth]
    z, slope   what `normed_relu_product` returned
    """
    a, b = a.contiguous(), read_where_it_lies(b)
    assert onto.is_contiguous()
    (runs, rows, depth), d = a.shape, b.shape[1]
    how = {**TILES[a.dtype], "COLUMNS": _whole(d)}
    launch(
        _normed_backward, (runs * triton.cdiv(rows, how["ROWS"]),),
        a, b, z, slope, onto, rows, d, depth, *b.stride(), CENTRE=centre, num_stages=3, **how,
    )  # fmt: skip
    return onto


def _whole(d: int) -> int:
    """The size of a tile that holds d numbers; products need 16."""
    return max(16, int(triton.next_power_of_2(d)))


@triton.jit
def _normed_relu(
    x_in, b_in, plus, z_out, slope, out, rows, columns, d, b_run, b_column, b_depth, epsilon,
    CENTRE: tl.constexpr, PLUS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    down = tl.cdiv(rows, ROWS)
    run = (tl.program_id(0) // down).to(tl.int64)
    n = (tl.program_id(0) % down) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, DEPTH)
    inside = (n < rows)[:, None] & (k < d)[None, :]
    place = run * rows * d + n[:, None] * d + k[None, :]
    x = tl.load(x_in + place, mask=inside, other=0.0).to(tl.float32)
    own_z, own = normal(x, inside, d, epsilon, CENTRE)
    z = own_z.to(z_out.dtype.element_ty)
    tl.store(z_out + place, z, mask=inside)
    tl.store(slope + run * rows + n, own, mask=n < rows)
    for first in range(0, columns, COLUMNS):
        m = first + tl.arange(0, COLUMNS)
        b = tl.load(
            b_in + run * b_run + m[:, None] * b_column + k[None, :] * b_depth,
            mask=(m < columns)[:, None] & (k < d)[None, :],
            other=0.0,
        )
        total = tl.dot(z, tl.trans(b), input_precision="tf32")
        if PLUS:
            total += tl.load(plus + run * columns + m, mask=m < columns, other=0.0).to(tl.float32)[None, :]
        total = tl.maximum(total, 0.0)
        at = run * rows * columns + n[:, None] * columns + m[None, :]
        tl.store(out + at, total.to(out.dtype.element_ty), mask=(n < rows)[:, None] & (m < columns)[None, :])


@triton.jit
def _normed_backward(
    a_in, b_in, z_in, slope, out, rows, d, depth, b_run, b_column, b_depth,
    CENTRE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    down = tl.cdiv(rows, ROWS)
    run = (tl.program_id(0) // down).to(tl.int64)
    n = (tl.program_id(0) % down) * ROWS + tl.arange(0, ROWS)
    m = tl.arange(0, COLUMNS)
    k = tl.arange(0, DEPTH)
    a = a_in + run * rows * depth + n[:, None] * depth + k[None, :]
    b = b_in + run * b_run + m[:, None] * b_column + k[None, :] * b_depth
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, depth, DEPTH):
        left = k[None, :] < depth - first
        own_a = tl.load(a + first, mask=(n < rows)[:, None] & left, other=0.0)
        own_b = tl.load(b + first * b_depth, mask=(m < d)[:, None] & left, other=0.0)
        total = tl.dot(own_a, tl.trans(own_b), total, input_precision="tf32")
    inside = (n < rows)[:, None] & (m < d)[None, :]
    place = run * rows * d + n[:, None] * d + m[None, :]
    z = tl.load(z_in + place, mask=inside, other=0.0).to(tl.float32)
    own = tl.load(slope + run * rows + n, mask=n < rows, other=0.0)
    to_x = to_vectors(total, z, own, inside, d, CENTRE)
    to_x += tl.load(out + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + place, to_x.to(out.dtype.element_ty), mask=inside)
