"""Products of attention over short sequences.

With three to eight positions a batched product on a GPU spends its time on starting tiny matrix products and on copying their
operands into place; a product of elements and a sum take a fraction of it. On a CPU, and for longer sequences, these are the usual
products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shapes import Float

if TYPE_CHECKING:
    from torch import Tensor

SHORT = 8
"""Most positions of a short sequence."""


def scores(
    q: Float[Tensor, "... query width"], k: Float[Tensor, "... position width"]
) -> Float[Tensor, "... query position"]:
    """q kᵀ"""
    if q.is_cuda and k.shape[-2] <= SHORT:
        return (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1)
    return q @ k.mT


def weighted_sum(
    attention: Float[Tensor, "... query position"], v: Float[Tensor, "... position width"]
) -> Float[Tensor, "... query width"]:
    """Σ_j α_j v_j"""
    if v.is_cuda and v.shape[-2] <= SHORT:
        return (attention.unsqueeze(-1) * v.unsqueeze(-3)).sum(-2)
    return attention @ v
