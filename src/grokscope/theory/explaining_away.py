"""Explaining away: a small loss leaves attention without a gradient (structural inference, Lemma 5.1 and App. D.1)."""

from __future__ import annotations

import torch
from torch import Tensor

from ..shapes import Float
from .contracts import nonnegative
from .equations import equation


@equation(
    "structural-inference",
    "29",
    tex=r"\lVert p - y \rVert_2 \leq \lVert p - y \rVert_1 \leq \sqrt{2 \mathrm{CE}}",
    bound=True,
)
def residual_bound(cross_entropy: Float[Tensor, "...", nonnegative]) -> Float[Tensor, "..."]:
    """Pinsker: how far the predicted distribution p can be from the label y at a given loss.

    ‖p − y‖₂ ≤ √(2 CE)

    CE  cross_entropy  −log p_y

    Never tight, and loosest where it is used: the truth falls with CE itself, not with its root (see "29, sharp").
    """
    return torch.sqrt(2 * cross_entropy)


@equation(
    "structural-inference", "30", tex=r"\lVert \nabla_h \mathrm{CE} \rVert \leq L_f \sqrt{2 \mathrm{CE}}", bound=True
)
def representation_gradient_bound(
    lipschitz: Float[Tensor, "...", nonnegative], cross_entropy: Float[Tensor, "...", nonnegative]
) -> Float[Tensor, "..."]:
    """The gradient that the MLP can pass back to the pooled representation.

    ‖∇_h CE‖ = ‖J_fᵀ (p − y)‖ ≤ L_f √(2 CE)

    L_f  lipschitz      of the map from h to the logits
    CE   cross_entropy  −log p_y
    """
    return lipschitz * residual_bound(cross_entropy)


@equation(
    "structural-inference",
    "35",
    "36",
    tex=r"\lVert v_j - h \rVert \leq \lVert W_V \rVert_{\mathrm{op}} \lVert e_j - \bar{e} \rVert"
    r" \leq 2 \lVert W_V \rVert_{\mathrm{op}} \max_j \lVert e_j \rVert",
    bound=True,
)
def value_gap_bound(
    value_norm: Float[Tensor, "...", nonnegative], embedding_norm: Float[Tensor, "...", nonnegative]
) -> Float[Tensor, "..."]:
    """How far a value can be from the pooled representation.

    ‖v_j − h‖ ≤ 2 ‖W_V‖_op max_j‖e_j‖

    ‖W_V‖_op    value_norm      largest singular value
    max_j‖e_j‖  embedding_norm  1 in the paper, which normalises embeddings

    Near its limit only where α_j is small, while Eq. 34 wants α_j large: α_j ‖v_j − h‖ is at most a quarter of this.
    """
    return 2 * value_norm * embedding_norm


@equation(
    "structural-inference",
    "4, tight",
    tex=r"\lvert \frac{\partial \mathrm{CE}}{\partial \ell_j} \rvert"
    r" \leq \alpha_j \lVert v_j - h \rVert L_f \sqrt{2 \mathrm{CE}}",
    bound=True,
)
def logit_gradient_bound(
    attention: Float[Tensor, "... position", nonnegative],
    values: Float[Tensor, "... position width"],
    pooled: Float[Tensor, "... width"],
    lipschitz: Float[Tensor, "...", nonnegative],
    cross_entropy: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "... position"]:
    """The gradient that can reach an attention logit, before the proof drops what it knows of the values.

    |∂CE/∂ℓ_j| ≤ α_j ‖v_j − h‖ L_f √(2 CE)

    α    attention      of one head; for linear ReLU attention 1/Σ_i relu(ℓ_i) where ℓ_j > 0
    v_j  values         W_V e_j
    h    pooled         Σ_j α_j v_j
    L_f  lipschitz      of the map from h to the logits
    CE   cross_entropy  of the example
    """
    distance = (values - pooled.unsqueeze(-2)).norm(dim=-1)
    return logit_gradient_bound_at(attention, distance, lipschitz, cross_entropy)


def logit_gradient_bound_at(
    attention: Float[Tensor, "... position", nonnegative],
    distance: Float[Tensor, "... position", nonnegative],
    lipschitz: Float[Tensor, "...", nonnegative],
    cross_entropy: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "... position"]:
    """`logit_gradient_bound` from the distances ‖v_j − h‖."""
    return attention * distance * representation_gradient_bound(lipschitz, cross_entropy).unsqueeze(-1)


@equation(
    "structural-inference",
    "4",
    "37",
    tex=r"\lvert \frac{\partial \mathrm{CE}}{\partial \ell_j} \rvert"
    r" \leq 2 L_f \lVert W_V \rVert_{\mathrm{op}} \max_j \lVert e_j \rVert \sqrt{2 \mathrm{CE}}",
    bound=True,
)
def logit_gradient_bound_closed(
    lipschitz: Float[Tensor, "...", nonnegative],
    value_norm: Float[Tensor, "...", nonnegative],
    embedding_norm: Float[Tensor, "...", nonnegative],
    cross_entropy: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """Lemma 5.1 as the paper states it: the gradient on every attention logit falls with the root of the loss.

    |∂CE/∂ℓ_j| ≤ 2 L_f ‖W_V‖_op max_j‖e_j‖ √(2 CE)

    L_f         lipschitz       of the map from h to the logits
    ‖W_V‖_op    value_norm      largest singular value
    max_j‖e_j‖  embedding_norm  1 in the paper, which normalises embeddings
    CE          cross_entropy   of the example

    At its best it is 6.3 times too large: a factor 4 because α_j (1 − α_j) ≤ 1/4 is replaced by 1, and 1.57 from Pinsker.
    """
    return value_gap_bound(value_norm, embedding_norm) * representation_gradient_bound(lipschitz, cross_entropy)
