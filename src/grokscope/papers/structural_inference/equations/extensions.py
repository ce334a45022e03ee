"""The two conjectures: softmax smooths as its logits contract, and heads share the work (structural inference, App. E)."""

from __future__ import annotations

from torch import Tensor

from ....shapes import Bool, Float
from ....theory.attention import least_mass
from ....theory.contracts import distribution, nonnegative, positive, support
from ....theory.equations import equation
from .conditions import Condition, met


@equation(
    "structural-inference",
    "Conj. E.1",
    tex=r"\mathrm{Var}_j(\ell_j) \leq \frac{\lVert M \rVert_F^2 \lVert e_q \rVert^2 \max_j \lVert e_j \rVert^2}{d}",
    bound=True,
)
def logit_variance_bound(
    interaction: Float[Tensor, "... d d"],
    query_norm: Float[Tensor, "...", nonnegative],
    embedding_norm: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """How uneven the logits can be: the interaction matrix bounds their variance, so its decay smooths attention.

    Var(ℓ) ≤ ‖M‖_F² ‖e_q‖² max_j‖e_j‖² / d

    M           interaction     W_Qᵀ W_K
    ‖e_q‖       query_norm      1 for normalised embeddings
    max_j‖e_j‖  embedding_norm  1 for normalised embeddings

    The bound is a theorem; that weight decay makes it contract and so ends the plateau is the conjecture.
    """
    squares = interaction.square().sum((-2, -1))
    return squares * (query_norm * embedding_norm).square() / interaction.shape[-1]


@equation("structural-inference", "54", tex=r"h = \sum_{r=1}^{H} W_O^{(r)} \sum_j \alpha_j^{(r)} v_j^{(r)}")
def pooled_heads(
    attention: Float[Tensor, "... head position", distribution],
    values: Float[Tensor, "... head position width"],
    W_O: Float[Tensor, "... head width d"],
) -> Float[Tensor, "... d"]:
    """What several heads pass on together.

    h = Σ_r (Σ_j α_j^r v_j^r) W_O^r

    α    attention  of each head
    v    values     of each head
    W_O  W_O        output projection of each head; acts on rows
    """
    return ((attention.unsqueeze(-2) @ values) @ W_O).squeeze(-2).sum(-2)


@equation(
    "structural-inference",
    "55",
    "Conj. E.2",
    tex=r"\min_{j \in I^\ast} \sum_{r=1}^{H} \alpha_j^{(r)} \geq \gamma_{\mathrm{pool}}",
)
def pooled_condition(
    attention: Float[Tensor, "... head position", distribution],
    informative: Bool[Tensor, "... position", support],
    gamma: Float[Tensor, "...", positive],
) -> Condition:
    """The structural condition for several heads: every informative position gets attention from some of them.

    min_{j ∈ I*} Σ_r α_j^r − γ_pool ≥ 0

    α       attention    of each head
    I*      informative  k ≥ 1 of the positions
    γ_pool  gamma        threshold; the sum over H heads lies between 0 and H
    """
    return met(attention.shape[-2] * least_mass(attention.mean(-2), informative) - gamma)
