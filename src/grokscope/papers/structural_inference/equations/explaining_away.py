"""Steps of explaining away, from the attention logits to the loss (structural inference, App. D.1)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ....shapes import Float
from ....theory.contracts import distribution, nonnegative, share
from ....theory.equations import equation
from .attention import pooled


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
    return attention.unsqueeze(-1) * (values - pooled(attention, values).unsqueeze(-2))


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
    ‖∇_h CE‖   gradient_norm  one number per example
    """
    return attention * gap * gradient_norm.unsqueeze(-1)
