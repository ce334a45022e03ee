"""Products of attention over short sequences.

With three to eight positions a batched product on a GPU spends its time on starting tiny matrix products and on copying their
operands into place; a product of elements and a sum take a fraction of it. So they do on a CPU for one or two queries per example.
Otherwise these are the usual products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shapes import Float

if TYPE_CHECKING:
    from torch import Tensor

SHORT = 8
"""Most positions of a short sequence on a GPU."""
FEW = 2
"""Most queries on a CPU."""


def scores(
    q: Float[Tensor, "... query width"], k: Float[Tensor, "... position width"]
) -> Float[Tensor, "... query position"]:
    """q kᵀ"""
    if _by_elements(q.shape[-2], k):
        return (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1)
    return q @ k.mT


def weighted_sum(
    attention: Float[Tensor, "... query position"], v: Float[Tensor, "... position width"]
) -> Float[Tensor, "... query width"]:
    """Σ_j α_j v_j"""
    if _by_elements(attention.shape[-2], v):
        return (attention.unsqueeze(-1) * v.unsqueeze(-3)).sum(-2)
    return attention @ v


def _by_elements(queries: int, positions: Float[Tensor, "... position width"]) -> bool:
    return positions.shape[-2] <= SHORT if positions.is_cuda else queries <= FEW
