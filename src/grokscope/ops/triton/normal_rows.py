"""Normalised sums of a token's and a place's vector, and their gradient, for stacked runs: the sums themselves are never stored.

A program has few vectors and one warp, so that its sums need no other warp.
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

FEW = 32
"""Runs below which a device is not filled by one program per run and block of tokens."""


def normal_rows(token: Tensor, place: Tensor, centre: bool, epsilon: float, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """out[v · places + t] = N(token[v] + place[t]) as `kind`, and 1/s of each in float32.

    token   [run token d]
    place   [run place d]
    """
    (runs, tokens, d), places = token.shape, place.shape[1]
    token, place = (t if t.stride()[1:] == (d, 1) else t.contiguous() for t in (token, place))
    z = torch.empty(runs, tokens * places, d, device=token.device, dtype=kind)
    slope = torch.empty(runs, tokens * places, 1, device=token.device)
    launch(
        _normal_rows, (tokens, runs), token, place, z, slope, tokens, d, places, token.stride(0), place.stride(0), epsilon,
        CENTRE=centre, **_sizes(places, d),
    )  # fmt: skip
    return z, slope


def normal_rows_backward(
    grad: Tensor, z: Tensor, slope: Tensor, tokens: int, centre: bool
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradients on the vectors of tokens and of places, in float32."""
    runs, d, places = len(grad), grad.shape[2], grad.shape[1] // tokens
    own = 4 if runs < FEW else 16  # tokens per program
    parts = triton.cdiv(tokens, own)
    to_token = torch.empty(runs, tokens, d, device=grad.device)
    to_place = torch.empty(runs, parts, places, d, device=grad.device)
    launch(
        _normal_rows_backward, (parts, runs), grad.contiguous(), z, slope, to_token, to_place, tokens, d, places,
        CENTRE=centre, TOKENS=own, **_sizes(places, d),
    )  # fmt: skip
    return to_token, to_place.sum(1)


def _sizes(places: int, d: int) -> dict[str, int]:
    rows, columns = (int(triton.next_power_of_2(size)) for size in (places, d))
    return {"PLACES": rows, "COLUMNS": columns, "num_warps": max(1, min(8, rows * columns // 1024))}


@triton.jit
def _normal_rows(
    token, place, z, slope, tokens, d, places, token_run, place_run, epsilon,
    CENTRE: tl.constexpr, PLACES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    v = tl.program_id(0)
    t = tl.arange(0, PLACES)
    c = tl.arange(0, COLUMNS)
    inside = (t < places)[:, None] & (c < d)[None, :]
    own = tl.load(token + run * token_run + v * d + c, mask=c < d, other=0.0)
    p = tl.load(place + run * place_run + t[:, None] * d + c[None, :], mask=inside, other=0.0)
    x = tl.where(inside, own[None, :] + p, 0.0)
    normal_x, share = normal(x, inside, d, epsilon, CENTRE)
    row = (run * tokens + v) * places + t
    tl.store(z + row[:, None] * d + c[None, :], normal_x.to(z.dtype.element_ty), mask=inside)
    tl.store(slope + row, share, mask=t < places)


@triton.jit
def _normal_rows_backward(
    grad, z_in, slope, to_token, to_place, tokens, d, places,
    CENTRE: tl.constexpr, TOKENS: tl.constexpr, PLACES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    part = tl.program_id(0)
    t = tl.arange(0, PLACES)
    c = tl.arange(0, COLUMNS)
    inside = (t < places)[:, None] & (c < d)[None, :]
    total = tl.zeros((PLACES, COLUMNS), dtype=tl.float32)
    for v in range(part * TOKENS, min(part * TOKENS + TOKENS, tokens)):
        row = (run * tokens + v) * places + t
        at = row[:, None] * d + c[None, :]
        g = tl.load(grad + at, mask=inside, other=0.0).to(tl.float32)
        z = tl.load(z_in + at, mask=inside, other=0.0).to(tl.float32)
        to_x = to_vectors(g, z, tl.load(slope + row, mask=t < places, other=0.0), inside, d, CENTRE)
        tl.store(to_token + (run * tokens + v) * d + c, tl.sum(to_x, 0), mask=c < d)
        total += to_x
    at = ((run * tl.num_programs(0) + part) * places + t)[:, None] * d + c[None, :]
    tl.store(to_place + at, total, mask=inside)
