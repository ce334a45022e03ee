"""Softmax of looked-up logits, and its gradient, for stacked runs: the middle of `ops/query_attention_batched.py`.

One program per block of examples: no atomics, deterministic results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

READS = 512
"""Reads per program, where a sequence is shorter; a program has four warps."""


def read_softmax(token: Tensor, place: Tensor, row: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The softmax over positions of token[v] + place[t], its logarithm, and these logits.

    token   [run token]
    place   [run place]
    row     [run example position], v · places + t
    """
    (runs, examples, length), tokens, places = row.shape, token.shape[1], place.shape[1]
    attention, log_attention, logits = (torch.empty(row.shape, device=token.device) for _ in range(3))
    grid, sizes = _blocks(runs, examples, length)
    launch(
        _read_softmax, grid,
        token.contiguous(), place.contiguous(), row.contiguous(), attention, log_attention, logits,
        tokens, examples, length, PLACES=places, **sizes,
    )  # fmt: skip
    return attention, log_attention, logits


def read_softmax_backward(
    attention: Tensor, to_attention: Tensor | None, to_log: Tensor | None, to_logits: Tensor | None
) -> Tensor | None:
    """The gradient on the logits [run example position] from those on the attention, its logarithm and the logits themselves; None
    is 0."""
    if to_attention is None and to_log is None:
        return to_logits
    out = torch.empty_like(attention)
    given = [None if t is None else t.contiguous() for t in (to_attention, to_log, to_logits)]
    grid, sizes = _blocks(*attention.shape)
    launch(
        _read_softmax_backward, grid,
        attention, *(out if t is None else t for t in given), out, *attention.shape[1:],
        *(t is not None for t in given), **sizes,
    )  # fmt: skip
    return out


def _blocks(runs: int, examples: int, length: int) -> tuple[tuple[int, int], dict[str, int]]:
    """The grid, and the size of a block."""
    positions = int(triton.next_power_of_2(length))
    block = max(1, READS // positions)
    return (triton.cdiv(examples, block), runs), {"EXAMPLES": block, "POSITIONS": positions}


@triton.jit
def _places(examples, length, EXAMPLES: tl.constexpr, POSITIONS: tl.constexpr):
    """Where the numbers of a block lie, and which of them exist."""
    n = tl.program_id(0) * EXAMPLES + tl.arange(0, EXAMPLES)
    t = tl.arange(0, POSITIONS)
    inside = (n < examples)[:, None] & (t < length)[None, :]
    return (tl.program_id(1).to(tl.int64) * examples + n)[:, None] * length + t[None, :], inside


@triton.jit
def _read_softmax(
    token, place, row, attention, log_attention, logits, tokens, examples, length,
    PLACES: tl.constexpr, EXAMPLES: tl.constexpr, POSITIONS: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    at, inside = _places(examples, length, EXAMPLES, POSITIONS)
    r = tl.load(row + at, mask=inside, other=0).to(tl.int32)  # divided quickly, see by_token.py
    own = tl.load(token + run * tokens + r // PLACES) + tl.load(place + run * PLACES + r % PLACES)
    apart = own - tl.max(tl.where(inside, own, float("-inf")), 1)[:, None]
    log = apart - tl.log(tl.sum(tl.where(inside, tl.exp(apart), 0.0), 1))[:, None]
    tl.store(logits + at, own, mask=inside)
    tl.store(log_attention + at, log, mask=inside)
    tl.store(attention + at, tl.exp(log), mask=inside)


@triton.jit
def _read_softmax_backward(
    attention, to_attention, to_log, to_logits, out, examples, length,
    OF_ATTENTION: tl.constexpr, OF_LOG: tl.constexpr, OF_LOGITS: tl.constexpr,
    EXAMPLES: tl.constexpr, POSITIONS: tl.constexpr,
):  # fmt: skip
    at, inside = _places(examples, length, EXAMPLES, POSITIONS)
    own = tl.load(attention + at, mask=inside, other=0.0)
    grad = tl.zeros((EXAMPLES, POSITIONS), dtype=tl.float32)
    if OF_ATTENTION:
        grad += own * tl.load(to_attention + at, mask=inside, other=0.0)
    if OF_LOG:
        grad += tl.load(to_log + at, mask=inside, other=0.0)
    grad -= own * tl.sum(grad, 1)[:, None]
    if OF_LOGITS:
        grad += tl.load(to_logits + at, mask=inside, other=0.0)
    tl.store(out + at, grad, mask=inside)
