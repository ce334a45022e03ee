"""LayerNorm and RMSNorm without a gain, and their gradient: one pass over memory each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

ROWS = 16
"""Vectors per program."""


def normalise(x: Tensor, centre: bool, epsilon: float) -> tuple[Tensor, Tensor]:
    """z of the same type as x, and 1/s in float32."""
    x = x.contiguous()
    z, slope = torch.empty_like(x), torch.empty(*x.shape[:-1], 1, device=x.device)
    d = x.shape[-1]
    vectors = x.numel() // d
    launch(
        _forward, (triton.cdiv(vectors, ROWS),),
        x, z, slope, vectors, d, epsilon, CENTRE=centre, ROWS=ROWS, COLUMNS=triton.next_power_of_2(d),
    )  # fmt: skip
    return z, slope


def normalise_backward(grad: Tensor, z: Tensor, slope: Tensor, centre: bool, onto: Tensor | None = None) -> Tensor:
    """The gradient on x, or `onto` with it added in place."""
    grad = grad.contiguous()
    out, d = torch.empty_like(grad) if onto is None else onto, grad.shape[-1]
    assert out.is_contiguous()
    vectors = grad.numel() // d
    launch(
        _backward, (triton.cdiv(vectors, ROWS),),
        grad, z, slope, out, vectors, d,
        CENTRE=centre, ADD=onto is not None, ROWS=ROWS, COLUMNS=triton.next_power_of_2(d),
    )  # fmt: skip
    return out


@triton.jit
def _place(vectors, d, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    n = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLUMNS)
    return n, n[:, None] * d + c[None, :], (n < vectors)[:, None] & (c < d)[None, :]


@triton.jit
def normal(x, inside, d, epsilon, CENTRE: tl.constexpr):
    """z and 1/s of the rows of x, which is 0 outside."""
    if CENTRE:
        x = tl.where(inside, x - (tl.sum(x, 1) / d)[:, None], 0.0)
    own = 1.0 / tl.sqrt(tl.sum(x * x, 1) / d + epsilon)
    return x * own[:, None], own


@triton.jit
def to_vectors(g, z, own, inside, d, CENTRE: tl.constexpr):
    """The gradient on x, given that on z; 0 outside."""
    to_x = (g - z * (tl.sum(g * z, 1) / d)[:, None]) * own[:, None]
    if CENTRE:
        to_x = tl.where(inside, to_x - (tl.sum(to_x, 1) / d)[:, None], 0.0)
    return to_x


@triton.jit
def _forward(x_in, z, slope, vectors, d, epsilon, CENTRE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    n, place, inside = _place(vectors, d, ROWS, COLUMNS)
    x = tl.load(x_in + place, mask=inside, other=0.0).to(tl.float32)
    own_z, own = normal(x, inside, d, epsilon, CENTRE)
    tl.store(z + place, own_z.to(z.dtype.element_ty), mask=inside)
    tl.store(slope + n, own, mask=n < vectors)


@triton.jit
def _backward(
    grad, z_in, slope, out, vectors, d,
    CENTRE: tl.constexpr, ADD: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    n, place, inside = _place(vectors, d, ROWS, COLUMNS)
    g = tl.load(grad + place, mask=inside, other=0.0).to(tl.float32)
    z = tl.load(z_in + place, mask=inside, other=0.0).to(tl.float32)
    own = tl.load(slope + n, mask=n < vectors, other=0.0)
    to_x = to_vectors(g, z, own, inside, d, CENTRE)
    if ADD:
        to_x += tl.load(out + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + place, to_x.to(out.dtype.element_ty), mask=inside)
