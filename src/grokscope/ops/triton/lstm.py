"""The nonlinearities of an LSTM cell (`ops/lstm.py`) and their backward pass, each in one pass over the gates of a position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 512


def activate(
    gates: Tensor, c: Tensor, new_c: Tensor, squashed: Tensor, h: Tensor, new_h: Tensor, stays: Tensor | None
) -> None:
    """`ops.lstm._activate` of one run or of stacked runs. The last axis of every tensor is contiguous."""
    examples, hidden = c.shape[-2:]
    runs = _runs(c)
    where = gates if stays is None else stays.contiguous()
    strides = [s for t in (gates, c, new_c, squashed, h, new_h) for s in _strides(t)]
    launch(
        _activate, (triton.cdiv(examples * hidden, BLOCK), runs),
        gates, c, new_c, squashed, h, new_h, where, *strides, examples, hidden, stays is not None, BLOCK,
    )  # fmt: skip


def cell_backward(
    gates: Tensor, c: Tensor, squashed: Tensor, to_h: Tensor, to_c: Tensor, stays: Tensor | None
) -> Tensor:
    """`ops.lstm._cell_backward` of one run or of stacked runs."""
    examples, hidden = c.shape[-2:]
    runs = _runs(c)
    to_before = torch.empty(c.shape, device=c.device)
    where = gates if stays is None else stays.contiguous()
    strides = [s for t in (gates, c, squashed, to_h, to_c, to_before) for s in _strides(t)]
    launch(
        _cell_backward, (triton.cdiv(examples * hidden, BLOCK), runs),
        gates, c, squashed, to_h, to_c, to_before, where, *strides, examples, hidden, stays is not None, BLOCK,
    )  # fmt: skip
    return to_before


def _runs(tensor: Tensor) -> int:
    return tensor.shape[0] if tensor.ndim == 3 else 1


def _strides(tensor: Tensor) -> tuple[int, int]:
    """From run to run, and from example to example."""
    return (tensor.stride(0) if tensor.ndim == 3 else 0), tensor.stride(-2)


@triton.jit
def _tanh(x):
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def _activate(
    gates, c, new_c, squashed, h, new_h, stays,
    gates_run, gates_row, c_run, c_row, new_c_run, new_c_row, squashed_run, squashed_row, h_run, h_row, new_h_run, new_h_row,
    examples, hidden, STAYS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = k < examples * hidden
    n, j = k // hidden, k % hidden
    own = gates + run * gates_run + n * gates_row + j
    i = tl.sigmoid(tl.load(own, mask=inside, other=0.0))
    f = tl.sigmoid(tl.load(own + hidden, mask=inside, other=0.0))
    o = tl.sigmoid(tl.load(own + 2 * hidden, mask=inside, other=0.0))
    g = _tanh(tl.load(own + 3 * hidden, mask=inside, other=0.0))
    before = tl.load(c + run * c_run + n * c_row + j, mask=inside, other=0.0)
    after = f * before + i * g
    small = _tanh(after)
    state = o * small
    if STAYS:
        still = tl.load(stays + run * examples + n, mask=inside, other=0) != 0
        after = tl.where(still, before, after)
        state = tl.where(still, tl.load(h + run * h_run + n * h_row + j, mask=inside, other=0.0), state)
    tl.store(own, i, mask=inside)
    tl.store(own + hidden, f, mask=inside)
    tl.store(own + 2 * hidden, o, mask=inside)
    tl.store(own + 3 * hidden, g, mask=inside)
    tl.store(new_c + run * new_c_run + n * new_c_row + j, after, mask=inside)
    tl.store(squashed + run * squashed_run + n * squashed_row + j, small, mask=inside)
    tl.store(new_h + run * new_h_run + n * new_h_row + j, state, mask=inside)


@triton.jit
def _cell_backward(
    gates, c, squashed, to_h, to_c, to_before, stays,
    gates_run, gates_row, c_run, c_row, squashed_run, squashed_row, to_h_run, to_h_row, to_c_run, to_c_row,
    to_before_run, to_before_row, examples, hidden, STAYS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = k < examples * hidden
    n, j = k // hidden, k % hidden
    own = gates + run * gates_run + n * gates_row + j
    i = tl.load(own, mask=inside, other=0.0)
    f = tl.load(own + hidden, mask=inside, other=0.0)
    o = tl.load(own + 2 * hidden, mask=inside, other=0.0)
    g = tl.load(own + 3 * hidden, mask=inside, other=0.0)
    before = tl.load(c + run * c_run + n * c_row + j, mask=inside, other=0.0)
    small = tl.load(squashed + run * squashed_run + n * squashed_row + j, mask=inside, other=0.0)
    from_h = tl.load(to_h + run * to_h_run + n * to_h_row + j, mask=inside, other=0.0)
    from_c = tl.load(to_c + run * to_c_run + n * to_c_row + j, mask=inside, other=0.0)
    to_new = from_c + from_h * o * (1.0 - small * small)
    to_i = to_new * g * i * (1.0 - i)
    to_f = to_new * before * f * (1.0 - f)
    to_o = from_h * small * o * (1.0 - o)
    to_g = to_new * i * (1.0 - g * g)
    back = to_new * f
    if STAYS:
        still = tl.load(stays + run * examples + n, mask=inside, other=0) != 0
        to_i = tl.where(still, 0.0, to_i)
        to_f = tl.where(still, 0.0, to_f)
        to_o = tl.where(still, 0.0, to_o)
        to_g = tl.where(still, 0.0, to_g)
        back = tl.where(still, from_c, back)
    tl.store(own, to_i, mask=inside)
    tl.store(own + hidden, to_f, mask=inside)
    tl.store(own + 2 * hidden, to_o, mask=inside)
    tl.store(own + 3 * hidden, to_g, mask=inside)
    tl.store(to_before + run * to_before_run + n * to_before_row + j, back, mask=inside)
