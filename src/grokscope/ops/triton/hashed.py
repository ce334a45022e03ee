"""Random numbers that are a hash of a run's seed and step, of purposes and a place, as in `randomness.Key`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from ..hashed import MOST_WORDS
from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 1024
"""Numbers per program."""


def draw(seed: Tensor, step: Tensor, words: tuple[int, ...], shape: tuple[int, ...], normal: bool) -> Tensor:
    """Numbers in (0, 1), or standard normal ones, for each place of `shape` and each run."""
    count = math.prod(shape)
    out = torch.empty(len(seed), *shape, device=seed.device)
    given = (*words, *[0] * (MOST_WORDS - len(words)))
    grid = (triton.cdiv(count, BLOCK), len(seed))
    launch(_draw, grid, seed.contiguous(), step.contiguous(), out, count, *given, len(words), normal, BLOCK)
    return out


@triton.jit
def _mix(word):
    word = ((word ^ (word >> 16)) * 0x45D9F3B) & 0x7FFFFFFF
    word = ((word ^ (word >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
    return (word ^ (word >> 16)) & 0x7FFFFFFF


@triton.jit
def _folded(own, word):
    return _mix((_mix(own & 0x7FFFFFFF) + word) & 0x7FFFFFFF)


@triton.jit
def _uniform(word):
    """A hash in (0, 1)."""
    return (_mix(word).to(tl.float32) + 0.5) / 2147483648.0


@triton.jit(do_not_specialize=["first_word", "second_word", "third_word", "fourth_word"])
def _draw(
    seed,
    step,
    out,
    count,
    first_word,
    second_word,
    third_word,
    fourth_word,
    WORDS: tl.constexpr,
    NORMAL: tl.constexpr,
    BLOCK: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    place = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    own = _folded(tl.load(seed + run), first_word)
    if WORDS > 1:
        own = _folded(own, second_word)
    if WORDS > 2:
        own = _folded(own, third_word)
    if WORDS > 3:
        own = _folded(own, fourth_word)
    own = _mix((own + tl.load(step + run)) & 0x7FFFFFFF)
    found = _uniform((own + place) & 0x7FFFFFFF)
    if NORMAL:
        second = _uniform((own + count + place) & 0x7FFFFFFF)
        first = tl.minimum(tl.maximum(found, 1e-7), 1 - 1e-7)
        second = tl.minimum(tl.maximum(second, 1e-7), 1 - 1e-7)
        found = tl.sqrt(-2 * tl.log(first)) * tl.cos(6.283185307179586 * second)
    tl.store(out + run * count + place, found, mask=place < count)
