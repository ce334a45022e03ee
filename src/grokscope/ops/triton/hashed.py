"""Random numbers that are a hash of a word and a place, as in `randomness.Key`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 1024
"""Numbers per program."""


def draw(word: Tensor, shape: tuple[int, ...], normal: bool) -> Tensor:
    """Numbers in (0, 1), or standard normal ones, for each place of `shape` and each of some words."""
    count = math.prod(shape)
    out = torch.empty(len(word), *shape, device=word.device)
    launch(_draw, (triton.cdiv(count, BLOCK), len(word)), word.contiguous(), out, count, normal, BLOCK)
    return out


@triton.jit
def _uniform(word):
    """The last word of a hash in (0, 1)."""
    word = ((word ^ (word >> 16)) * 0x45D9F3B) & 0x7FFFFFFF
    word = ((word ^ (word >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
    word = (word ^ (word >> 16)) & 0x7FFFFFFF
    return (word.to(tl.float32) + 0.5) / 2147483648.0


@triton.jit
def _draw(word, out, count, NORMAL: tl.constexpr, BLOCK: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    place = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    own = tl.load(word + run)
    found = _uniform((own + place) & 0x7FFFFFFF)
    if NORMAL:
        second = _uniform((own + count + place) & 0x7FFFFFFF)
        first = tl.minimum(tl.maximum(found, 1e-7), 1 - 1e-7)
        second = tl.minimum(tl.maximum(second, 1e-7), 1 - 1e-7)
        found = tl.sqrt(-2 * tl.log(first)) * tl.cos(6.283185307179586 * second)
    tl.store(out + run * count + place, found, mask=place < count)
