"""Two inputs that differ at one informative position j: how far apart attention can hold them (structural inference, App. A.3).

The unnormalised score of a position depends on its own token alone, so changing the token at j rescales every other weight
by the same factor. Which of the two inputs carries the prime is a matter of naming.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....shapes import Float, Int
from ....theory.contracts import below_one, distribution, nonnegative, share, within_sequence
from ....theory.equations import equation
from .attention import pooled


@equation("structural-inference", "11", tex=r"\lVert v_j - v^\prime_j \rVert \geq \Delta")
def value_separation(
    value: Float[Tensor, "... width"], other_value: Float[Tensor, "... width"]
) -> Float[Tensor, "..."]:
    """Raw signal separation: how far apart the values of two tokens at j are; Δ is its least value over tokens.

    ‖v_j − v'_j‖ ≥ Δ

    v_j   value        of the one token
    v'_j  other_value  of the other
    """
    return (value - other_value).norm(dim=-1)


@equation(
    "structural-inference",
    "12",
    tex=r"\alpha^\prime_i = \rho \alpha_i \quad (i \neq j), \quad \rho = \frac{1 - \alpha^\prime_j}{1 - \alpha_j}",
)
def rescaling(mass: Float[Tensor, "...", below_one], other_mass: Float[Tensor, "...", share]) -> Float[Tensor, "..."]:
    """The one factor by which every other weight changes when the token at j does.

    ρ = (1 − α'_j) / (1 − α_j)

    α_j   mass        before
    α'_j  other_mass  after
    """
    return (1 - other_mass) / (1 - mass)


@equation("structural-inference", "13", tex=r"\mu = \frac{1}{1 - \alpha_j} \sum_{i \neq j} \alpha_i v_i")
def centroid(
    attention: Float[Tensor, "... position", distribution],
    values: Float[Tensor, "... position width"],
    position: Int[Tensor, "...", within_sequence],
) -> Float[Tensor, "... width"]:
    """Where attention would point without position j: the weighted mean of the other values. Both inputs share it.

    μ = Σ_{i≠j} α_i v_i / (1 − α_j)

    α    attention  for either input
    v_i  values     for either input
    j    position   where the two inputs differ; it must not hold all the mass
    """
    here = position.unsqueeze(-1) == torch.arange(attention.shape[-1], device=attention.device)
    others = attention.masked_fill(here, 0).unsqueeze(-1)
    return (others * values).sum(-2) / others.sum(-2)


@equation(
    "structural-inference",
    "§3.2",
    tex=r"\Delta_{\mathrm{emb}} = \max_x \max_{j \in I^\ast} \lVert v_j - \mu_j \rVert,"
    r" \quad v_j - \mu_j = \frac{v_j - h}{1 - \alpha_j}",
)
def centroid_gap(
    attention: Float[Tensor, "... position", distribution], values: Float[Tensor, "... position width"]
) -> Float[Tensor, "... position"]:
    """How far each position's value is from the centroid of the others; Δ_emb is its largest value on I*.

    ‖v_j − μ_j‖ = ‖v_j − h‖ / (1 − α_j)

    α    attention  no position may hold all the mass
    v_j  values     W_V e_j

    The paper calls Δ_emb a separability margin, a worst case; its proof needs the largest gap, and so it is here.
    """
    gap = values - pooled(attention, values).unsqueeze(-2)
    return gap.norm(dim=-1) / (1 - attention)


@equation(
    "structural-inference",
    "14",
    tex=r"h - h^\prime = \alpha_j (v_j - \mu) - \alpha^\prime_j (v^\prime_j - \mu)",
)
def pooled_difference(
    mass: Float[Tensor, "...", share],
    other_mass: Float[Tensor, "...", share],
    value: Float[Tensor, "... width"],
    other_value: Float[Tensor, "... width"],
    center: Float[Tensor, "... width"],
) -> Float[Tensor, "... width"]:
    """What is left of a changed token after attention, in closed form.

    h − h' = α_j (v_j − μ) − α'_j (v'_j − μ)

    α_j   mass         on position j, for the one input
    α'_j  other_mass   for the other
    v_j   value        at j, for the one input
    v'_j  other_value  for the other
    μ     center       the centroid of Eq. 13
    """
    return mass.unsqueeze(-1) * (value - center) - other_mass.unsqueeze(-1) * (other_value - center)


@equation(
    "structural-inference",
    "17",
    tex=r"h - h^\prime = \alpha_j (v_j - v^\prime_j) + (\alpha_j - \alpha^\prime_j)(v^\prime_j - \mu)",
)
def pooled_difference_rearranged(
    mass: Float[Tensor, "...", share],
    other_mass: Float[Tensor, "...", share],
    value: Float[Tensor, "... width"],
    other_value: Float[Tensor, "... width"],
    center: Float[Tensor, "... width"],
) -> Float[Tensor, "... width"]:
    """The same difference, split into the change of the value and the change of the attention.

    h − h' = α_j (v_j − v'_j) + (α_j − α'_j)(v'_j − μ)

    α_j   mass         on position j, for the one input
    α'_j  other_mass   for the other
    v_j   value        at j, for the one input
    v'_j  other_value  for the other
    μ     center       the centroid of Eq. 13
    """
    return mass.unsqueeze(-1) * (value - other_value) + (mass - other_mass).unsqueeze(-1) * (other_value - center)


@equation(
    "structural-inference",
    "16, tight",
    tex=r"\lVert h - h^\prime \rVert \leq \alpha_j \lVert v_j - \mu \rVert"
    r" + \alpha^\prime_j \lVert v^\prime_j - \mu \rVert",
    bound=True,
)
def difference_bound_tight(
    mass: Float[Tensor, "...", share],
    other_mass: Float[Tensor, "...", share],
    gap: Float[Tensor, "...", nonnegative],
    other_gap: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """The triangle inequality behind Eq. 16, with each value's own distance from the centroid.

    ‖h − h'‖ ≤ α_j ‖v_j − μ‖ + α'_j ‖v'_j − μ‖

    α_j         mass        on position j, for the one input
    α'_j        other_mass  for the other
    ‖v_j − μ‖   gap         for the one input
    ‖v'_j − μ‖  other_gap   for the other
    """
    return mass * gap + other_mass * other_gap


@equation(
    "structural-inference",
    "16",
    "24",
    tex=r"\lVert h - h^\prime \rVert \leq (\alpha_j + \alpha^\prime_j) \Delta_{\mathrm{emb}}",
    bound=True,
)
def difference_bound(
    mass: Float[Tensor, "...", share],
    other_mass: Float[Tensor, "...", share],
    spread: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """The bottleneck: a position without attention cannot move the pooled representation.

    ‖h − h'‖ ≤ (α_j + α'_j) Δ_emb

    α_j    mass        on position j, for the one input
    α'_j   other_mass  for the other
    Δ_emb  spread      largest ‖v_j − μ‖
    """
    return (mass + other_mass) * spread
