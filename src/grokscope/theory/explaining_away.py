"""Explaining away: a small loss leaves attention without a gradient (structural inference, Lemma 5.1 and App. D.1)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..shapes import Float
from .contracts import distribution, nonnegative, share
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
    "structural-inference", "29, sharp", tex=r"\lVert p - y \rVert_2 \leq \sqrt{2} (1 - e^{-\mathrm{CE}})", bound=True
)
def residual_bound_sharp(cross_entropy: Float[Tensor, "...", nonnegative]) -> Float[Tensor, "..."]:
    """The same without Pinsker, not in the paper: y is one-hot, so the loss fixes p_y exactly.

    ‖p − y‖₂ ≤ √2 (1 − p_y) = √2 (1 − e^−CE)

    CE  cross_entropy  −log p_y

    With equality when one other class takes the rest. So the gradient vanishes linearly with the loss; the paper's
    "square-root rate" is a weakness of its bound.
    """
    return -math.sqrt(2) * torch.expm1(-cross_entropy)


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


@equation("structural-inference", "31", "32", tex=r"\frac{\partial h}{\partial \ell_j} = \alpha_j (v_j - h)")
def pooled_jacobian(
    attention: Float[Tensor, "... position", distribution], values: Float[Tensor, "... position width"]
) -> Float[Tensor, "... position width"]:
    """How the pooled representation moves with each attention logit, for softmax attention.

    ∂h/∂ℓ_j = Σ_i α_i (δ_ij − α_j) v_i = α_j (v_j − h)

    α    attention  softmax of the logits ℓ
    v_j  values     W_V e_j

    For linear ReLU attention, the paper's own setting, the factor is 1/Σ_i relu(ℓ_i) instead of α_j. It may exceed 1,
    and then the later steps and Lemma 5.1 do not hold.
    """
    return attention.unsqueeze(-1) * (values - (attention.unsqueeze(-1) * values).sum(-2, keepdim=True))


@equation(
    "structural-inference",
    "33",
    tex=r"\frac{\partial \mathrm{CE}}{\partial \ell_j} = \alpha_j \langle v_j - h, \nabla_h \mathrm{CE} \rangle",
)
def logit_gradient(
    attention: Float[Tensor, "... position", distribution],
    values: Float[Tensor, "... position width"],
    gradient: Float[Tensor, "... width"],
) -> Float[Tensor, "... position"]:
    """The task's gradient on each attention logit, for softmax attention.

    ∂CE/∂ℓ_j = α_j ⟨v_j − h, ∇_h CE⟩

    α       attention  softmax of the logits ℓ
    v_j     values     W_V e_j
    ∇_h CE  gradient   with respect to the pooled representation
    """
    return (pooled_jacobian(attention, values) * gradient.unsqueeze(-2)).sum(-1)


@equation(
    "structural-inference",
    "34",
    tex=r"\lvert \frac{\partial \mathrm{CE}}{\partial \ell_j} \rvert"
    r" \leq \alpha_j \lVert v_j - h \rVert \lVert \nabla_h \mathrm{CE} \rVert",
    bound=True,
)
def logit_gradient_cauchy_schwarz(
    attention: Float[Tensor, "... position", share],
    gap: Float[Tensor, "... position", nonnegative],
    gradient_norm: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "... position"]:
    """Cauchy–Schwarz on Eq. 33; the paper then drops α_j ≤ 1.

    |∂CE/∂ℓ_j| ≤ α_j ‖v_j − h‖ ‖∇_h CE‖

    α          attention      on each position
    ‖v_j − h‖  gap            of each position
    ‖∇_h CE‖   gradient_norm  one number an example
    """
    return attention * gap * gradient_norm.unsqueeze(-1)


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
    return attention * distance * (lipschitz * residual_bound(cross_entropy)).unsqueeze(-1)


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
    return 2 * lipschitz * value_norm * embedding_norm * residual_bound(cross_entropy)
