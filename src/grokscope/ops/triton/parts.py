"""Sums of what several programs have computed a part of, for up to three tensors in one kernel.

Parts are added in the order in which they lie: deterministic results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

PARTS, COLUMNS = 8, 128
"""Size of a block."""


def add_parts(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The sum of each of three tensors [run part number] over its parts, in its own precision; added in float32."""
    runs, counts, sizes = zip(*(t.shape for t in tensors), strict=True)
    # what one program has computed is there already: the gradient on x of many runs is the largest tensor of a step
    blocks = [
        0 if count == 1 else run * triton.cdiv(size, COLUMNS)
        for run, count, size in zip(runs, counts, sizes, strict=True)
    ]
    sums = [t.new_empty(t.shape[0], t.shape[2]) if own else t[:, 0] for t, own in zip(tensors, blocks, strict=True)]
    if any(blocks):
        launch(_add_parts, (sum(blocks),), *tensors, *sums, *counts, *sizes, *blocks[:2], PARTS, COLUMNS)
    return tuple(sums)


@triton.jit
def _add_parts(
    a, b, c, sum_a, sum_b, sum_c, parts_a, parts_b, parts_c, size_a, size_b, size_c, blocks_a, blocks_b,
    PARTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    if block < blocks_a:
        _add(a, sum_a, parts_a, size_a, block, PARTS, COLUMNS)
    elif block < blocks_a + blocks_b:
        _add(b, sum_b, parts_b, size_b, block - blocks_a, PARTS, COLUMNS)
    else:
        _add(c, sum_c, parts_c, size_c, block - blocks_a - blocks_b, PARTS, COLUMNS)


@triton.jit
def _add(tensor, out, parts, size, block, PARTS: tl.constexpr, COLUMNS: tl.constexpr):
    """One block of columns of one run."""
    across = tl.cdiv(size, COLUMNS)
    run = (block // across).to(tl.int64)
    column = (block % across) * COLUMNS + tl.arange(0, COLUMNS)
    p = tl.arange(0, PARTS)
    total = tl.zeros((PARTS, COLUMNS), dtype=tl.float32)
    for first in range(0, parts, PARTS):
        inside = (first + p < parts)[:, None] & (column < size)[None, :]
        place = (run * parts + first + p)[:, None] * size + column[None, :]
        total += tl.load(tensor + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + run * size + column, tl.sum(total, 0).to(out.dtype.element_ty), mask=column < size)
