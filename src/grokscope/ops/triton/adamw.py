"""Clipping and AdamW for stacked runs in one pass over their weights, each run with its own numbers (ops/clipping.py and
optim/adamw.py have the rules)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 1024


def adamw_(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    square: Tensor,
    before: Tensor,
    lr: Tensor,
    norm: Tensor,
    clip: Tensor,
    **own: Tensor,
) -> None:
    """As `ops.adamw.adamw_`, but `grad` stays as it is."""
    runs, size = weight.shape
    launch(
        _adamw, (triton.cdiv(size, BLOCK), runs), weight, grad.contiguous(), mean, square, before, lr, norm, clip,
        own["weight_decay"], own["beta1"], own["beta2"], own["eps"], size, BLOCK,
    )  # fmt: skip


@triton.jit
def _adamw(
    weight, grad, mean, square, before, lr, norm, clip, decay, beta1, beta2, eps, size, BLOCK: tl.constexpr
):  # fmt: skip
    run = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < size
    place = run.to(tl.int64) * size + i
    b1, b2, rate = tl.load(beta1 + run), tl.load(beta2 + run), tl.load(lr + run)
    t = (tl.load(before + run) + 1).to(tl.float32)
    limit = tl.load(clip + run)
    share = limit / (tl.load(norm + run) + 1e-6)
    scale = tl.where(limit > 0, tl.where(share > 1.0, 1.0, share), 1.0)  # NaN, if the norm is
    # β^t as exp(t · log β), and 0^t is 0
    first = 1.0 - tl.where(b1 > 0, tl.exp(t * tl.log(tl.maximum(b1, 1e-30))), 0.0)
    second = 1.0 - tl.where(b2 > 0, tl.exp(t * tl.log(tl.maximum(b2, 1e-30))), 0.0)
    g = tl.load(grad + place, mask=inside, other=0.0) * scale
    m = b1 * tl.load(mean + place, mask=inside, other=0.0) + (1.0 - b1) * g
    v = b2 * tl.load(square + place, mask=inside, other=0.0) + (1.0 - b2) * g * g
    w = tl.load(weight + place, mask=inside, other=0.0)
    w = (1.0 - rate * tl.load(decay + run)) * w - (rate / first) * m / (tl.sqrt(v / second) + tl.load(eps + run))
    tl.store(mean + place, m, mask=inside)
    tl.store(square + place, v, mask=inside)
    tl.store(weight + place, w, mask=inside)
