"""Norms of weight matrices and the Lipschitz constants they bound (structural inference, Def. 4.2 and Thm 4.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from ..shapes import Float
from .equations import equation


def spectral_norm(matrix: Float[Tensor, "... row column"], squarings: int = 9) -> Float[Tensor, "..."]:
    """An upper bound on the largest singular value, within 0.5 % for 100 rows: the Schatten norm of order 2^(squarings+1).

    ‖W‖₂ ≤ (tr (WᵀW)^n)^(1/2n) ≤ r^(1/2n) ‖W‖₂ with n = 2^squarings and r the rank. Only matrix products, so it runs
    for many runs at once on any device, where a singular value decomposition does not.
    """
    return _schatten(_gram(matrix), squarings)


def spectral_norms(*matrices: Float[Tensor, "... _ _"]) -> list[Tensor]:
    """`spectral_norm` of several matrices, in one go where their shorter sides are equal."""
    grams = [_gram(matrix) for matrix in matrices]
    if len({gram.shape for gram in grams}) > 1:
        return [_schatten(gram) for gram in grams]
    return list(_schatten(torch.stack(grams, -3)).unbind(-1))


def _gram(matrix: Tensor) -> Tensor:
    """WᵀW or WWᵀ, whichever is smaller."""
    return matrix.mT @ matrix if matrix.shape[-2] >= matrix.shape[-1] else matrix @ matrix.mT


EVERY = 3
"""Squarings after which a matrix is scaled again. With r rows its largest eigenvalue is then at least r^(−2^EVERY), far from the
smallest number; scaling every time would launch twice as many kernels."""


def _schatten(gram: Tensor, squarings: int = 9) -> Tensor:
    """(tr gram^n)^(1/2n) with n = 2^squarings, scaled on the way so that nothing overflows."""
    norm = torch.ones(gram.shape[:-2], device=gram.device, dtype=gram.dtype)
    for k in range(squarings + 1):
        if k % EVERY == 0 or k == squarings:
            scale = torch.diagonal(gram, dim1=-2, dim2=-1).sum(-1).clamp_min(torch.finfo(gram.dtype).tiny)
            norm = norm * scale.pow(2.0 ** -(k + 1))
            gram = gram / scale[..., None, None]
        if k < squarings:
            gram = gram @ gram
    return norm


@equation(
    "structural-inference",
    "23",
    tex=r"\lVert f(h) - f(h^\prime) \rVert \leq L_f \lVert h - h^\prime \rVert,"
    r" \quad L_f \leq \lVert W_2 \rVert_2 \lVert W_1 \rVert_2",
    bound=True,
)
def two_layer_lipschitz(
    W_in: Float[Tensor, "... d hidden"], W_out: Float[Tensor, "... hidden out"]
) -> Float[Tensor, "..."]:
    """How fast a two-layer ReLU network can change: the product of its spectral norms.

    ‖f(h) − f(h')‖ ≤ L_f ‖h − h'‖, L_f ≤ ‖W₂‖₂ ‖W₁‖₂

    W₁  W_in   acts on rows: f(h) = relu(h W₁) W₂
    W₂  W_out  the same
    """
    first, second = spectral_norms(W_in, W_out)
    return first * second


@equation(
    "structural-inference",
    "23, residual",
    tex=r"L_f \leq \lVert W_U \rVert_2 (1 + \lVert W_2 \rVert_2 \lVert W_1 \rVert_2)",
    bound=True,
)
def residual_lipschitz(
    W_in: Float[Tensor, "... d hidden"], W_out: Float[Tensor, "... hidden d"], W_U: Float[Tensor, "... d class"]
) -> Float[Tensor, "..."]:
    """The same when the MLP adds to a residual stream that is then unembedded.

    L_f ≤ ‖W_U‖₂ (1 + ‖W₂‖₂ ‖W₁‖₂)

    W₁   W_in   f(h) = (h + relu(h W₁) W₂) W_U
    W₂   W_out  back to the width of the stream
    W_U  W_U    the unembedding
    """
    first, second, unembedding = spectral_norms(W_in, W_out, W_U)
    return unembedding * (1 + first * second)
