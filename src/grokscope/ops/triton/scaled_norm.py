"""g ⊙ N(x) + b and its gradients on x, g and b for stacked runs, each with its own gain and bias.

The backward pass normalises x again, which costs no traffic. Programs add the gradients on g and b over their vectors; their sums
are added in a fixed order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch
from .normalise import normal, to_vectors

if TYPE_CHECKING:
    from torch import Tensor

NUMBERS = 2048
"""Numbers per block of vectors."""
PROGRAMS = 2048
"""Programs that share the vectors of all runs where there is a gain or a bias: each writes a sum."""


def scaled_norm(
    x: Tensor, gain: Tensor | None, bias: Tensor | None, centre: bool, epsilon: float, kind: torch.dtype
) -> Tensor:
    """g ⊙ N(x) + b as `kind`.

    x            [run row d]
    gain, bias   [run d], or nothing
    """
    x = x.contiguous()
    (runs, rows, d), out = x.shape, torch.empty(x.shape, device=x.device, dtype=kind)
    sizes = _sizes(d)
    launch(
        _scaled_norm, (triton.cdiv(rows, sizes["ROWS"]), runs),
        x, _or(gain, x), _or(bias, x), out, rows, d, epsilon,
        CENTRE=centre, GAIN=gain is not None, BIAS=bias is not None, **sizes,
    )  # fmt: skip
    return out


def scaled_norm_backward(
    grad: Tensor, x: Tensor, gain: Tensor | None, biased: bool, centre: bool, epsilon: float
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The gradients on x, and on the gain and the bias if there are any, in float32."""
    grad, x = grad.contiguous(), x.contiguous()
    runs, rows, d = x.shape
    sizes, sums = _sizes(d), gain is not None or biased
    programs = triton.cdiv(rows, sizes["ROWS"])
    if sums:
        programs = max(1, min(programs, PROGRAMS // runs))
    to_x, parts = torch.empty_like(x), torch.empty(2, runs, programs if sums else 0, d, device=x.device)
    launch(
        _scaled_norm_backward, (programs, runs),
        grad, x, _or(gain, x), to_x, parts, rows, d, epsilon,
        CENTRE=centre, GAIN=gain is not None, BIAS=biased, **sizes,
    )  # fmt: skip
    return to_x, None if gain is None else parts[0].sum(1), parts[1].sum(1) if biased else None


def _or(vectors: Tensor | None, other: Tensor) -> Tensor:
    return other if vectors is None else vectors.contiguous()


def _sizes(d: int) -> dict[str, int]:
    columns = int(triton.next_power_of_2(d))
    return {"ROWS": max(1, NUMBERS // columns), "COLUMNS": columns}


@triton.jit
def _scaled_norm(
    x_in, gain, bias, out, rows, d, epsilon,
    CENTRE: tl.constexpr, GAIN: tl.constexpr, BIAS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLUMNS)
    inside = (n < rows)[:, None] & (c < d)[None, :]
    place = (run * rows + n)[:, None] * d + c[None, :]
    x = tl.load(x_in + place, mask=inside, other=0.0).to(tl.float32)
    z, _ = normal(x, inside, d, epsilon, CENTRE)
    if GAIN:
        z = z * tl.load(gain + run * d + c, mask=c < d, other=0.0)[None, :]
    if BIAS:
        z = z + tl.load(bias + run * d + c, mask=c < d, other=0.0)[None, :]
    tl.store(out + place, z.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _scaled_norm_backward(
    grad, x_in, gain, to_x, parts, rows, d, epsilon,
    CENTRE: tl.constexpr, GAIN: tl.constexpr, BIAS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    part = tl.program_id(0)
    programs = tl.num_programs(0)
    c = tl.arange(0, COLUMNS)
    sum_gain = tl.zeros((COLUMNS,), dtype=tl.float32)
    sum_bias = tl.zeros((COLUMNS,), dtype=tl.float32)
    for block in range(part, tl.cdiv(rows, ROWS), programs):
        n = block * ROWS + tl.arange(0, ROWS)
        inside = (n < rows)[:, None] & (c < d)[None, :]
        place = (run * rows + n)[:, None] * d + c[None, :]
        x = tl.load(x_in + place, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(grad + place, mask=inside, other=0.0).to(tl.float32)
        z, own = normal(x, inside, d, epsilon, CENTRE)
        if BIAS:
            sum_bias += tl.sum(g, 0)
        if GAIN:
            sum_gain += tl.sum(g * z, 0)
            g = g * tl.load(gain + run * d + c, mask=c < d, other=0.0)[None, :]
        found = to_vectors(g, z, own, inside, d, CENTRE)
        tl.store(to_x + place, found.to(to_x.dtype.element_ty), mask=inside)
    mine = (run * programs + part) * d + c
    if GAIN:
        tl.store(parts + mine, sum_gain, mask=c < d)
    if BIAS:
        tl.store(parts + tl.num_programs(1).to(tl.int64) * programs * d + mine, sum_bias, mask=c < d)
