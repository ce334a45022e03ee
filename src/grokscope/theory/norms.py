"""Norms of weight matrices and the Lipschitz constants they bound (structural inference, Def. 4.2 and Thm 4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..shapes import Float
from .equations import equation

if TYPE_CHECKING:
    from torch import Tensor


def spectral_norm(matrix: Float[Tensor, "... row column"], squarings: int = 9) -> Float[Tensor, "..."]:
    """An upper bound on the largest singular value, within 0.5 % for 100 rows: the Schatten norm of order 2^(squarings+1).

    ‖W‖₂ ≤ (tr (WᵀW)^n)^(1/2n) ≤ r^(1/2n) ‖W‖₂ with n = 2^squarings and r the rank. Only matrix products, so it runs
    for many runs at once on any device, where a singular value decomposition does not.
    """
    small = matrix.mT @ matrix if matrix.shape[-2] >= matrix.shape[-1] else matrix @ matrix.mT
    log_norm = torch.zeros(matrix.shape[:-2], device=matrix.device, dtype=matrix.dtype)
    for k in range(squarings + 1):
        scale = torch.diagonal(small, dim1=-2, dim2=-1).sum(-1).clamp_min(torch.finfo(matrix.dtype).tiny)
        log_norm = log_norm + scale.log() / 2 ** (k + 1)
        small = small / scale[..., None, None]
        small = small @ small
    return log_norm.exp()


@equation("structural-inference", "Def. 4.2, Lipschitz")
def two_layer_lipschitz(
    W_in: Float[Tensor, "... d hidden"], W_out: Float[Tensor, "... hidden out"]
) -> Float[Tensor, "..."]:
    """How fast a two-layer ReLU network can change: the product of its spectral norms.

    L_f ≤ ‖W₂‖₂ ‖W₁‖₂
    """
    return spectral_norm(W_in) * spectral_norm(W_out)


@equation("structural-inference", "Def. 4.2, Lipschitz, residual")
def residual_lipschitz(
    W_in: Float[Tensor, "... d hidden"], W_out: Float[Tensor, "... hidden d"], W_U: Float[Tensor, "... d class"]
) -> Float[Tensor, "..."]:
    """The same when the MLP adds to a residual stream that is then unembedded.

    L_f ≤ ‖W_U‖₂ (1 + ‖W₂‖₂ ‖W₁‖₂)
    """
    return spectral_norm(W_U) * (1 + two_layer_lipschitz(W_in, W_out))
