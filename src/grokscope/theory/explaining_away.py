"""Explaining away: a small loss leaves attention without a gradient (structural inference, Lemma 5.1 and App. D.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..shapes import Float
from .equations import equation

if TYPE_CHECKING:
    from torch import Tensor


@equation("structural-inference", "29")
def residual_bound(cross_entropy: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Pinsker: how far the predicted distribution p can be from the label y at a given loss.

    ‖p − y‖₂ ≤ √(2 CE)
    """
    return torch.sqrt(2 * cross_entropy)


@equation("structural-inference", "4, tight")
def logit_gradient_bound(
    attention: Float[Tensor, "... position"],
    values: Float[Tensor, "... position width"],
    pooled: Float[Tensor, "... width"],
    lipschitz: Float[Tensor, "..."],
    cross_entropy: Float[Tensor, "..."],
) -> Float[Tensor, "... position"]:
    """The gradient that can reach an attention logit, before the proof drops what it knows of the values.

    |∂CE/∂ℓ_j| ≤ α_j ‖v_j − h‖ L_f √(2 CE)

    α    attention    of one head
    v_j  values       W_V e_j
    h    pooled       Σ_j α_j v_j
    L_f  lipschitz    of the map from h to the logits
    """
    reach = attention * (values - pooled.unsqueeze(-2)).norm(dim=-1)
    return reach * (lipschitz * residual_bound(cross_entropy)).unsqueeze(-1)


@equation("structural-inference", "4")
def logit_gradient_bound_closed(
    lipschitz: Float[Tensor, "..."],
    value_norm: Float[Tensor, "..."],
    embedding_norm: Float[Tensor, "..."],
    cross_entropy: Float[Tensor, "..."],
) -> Float[Tensor, "..."]:
    """Lemma 5.1 as the paper states it: the gradient on every attention logit falls with the root of the loss.

    |∂CE/∂ℓ_j| ≤ 2 L_f ‖W_V‖_op max_j‖e_j‖ √(2 CE)

    L_f         lipschitz        of the map from h to the logits
    ‖W_V‖_op    value_norm       largest singular value
    max_j‖e_j‖  embedding_norm   1 in the paper, which normalises embeddings
    """
    return 2 * lipschitz * value_norm * embedding_norm * residual_bound(cross_entropy)
