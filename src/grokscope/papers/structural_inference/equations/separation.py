"""Lower bounds on the distance of two pooled representations (structural inference, App. A.3, Remark A.1 and App. C.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from ....shapes import Float
from ....theory.contracts import nonnegative, positive, share
from ....theory.equations import equation


@equation(
    "structural-inference",
    "18",
    tex=r"\lVert h - h^\prime \rVert \geq \alpha_j \Delta"
    r" - \lvert \alpha_j - \alpha^\prime_j \rvert \Delta_{\mathrm{emb}}",
    bound=True,
)
def difference_lower_bound(
    mass: Float[Tensor, "...", share],
    other_mass: Float[Tensor, "...", share],
    separation: Float[Tensor, "...", nonnegative],
    spread: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """What attention keeps of a changed token, if it gives about as much attention to both tokens.

    ‖h − h'‖ ≥ α_j Δ − |α_j − α'_j| Δ_emb

    α_j    mass        on position j; either of the two inputs may be the first
    α'_j   other_mass  for the other input
    Δ      separation  at most ‖v_j − v'_j‖
    Δ_emb  spread      at least ‖v_j − μ‖ and ‖v'_j − μ‖

    It is empty once |α_j − α'_j| Δ_emb ≥ α_j Δ, and there the two may indeed coincide (see Eq. 28).
    """
    return mass * separation - (mass - other_mass).abs() * spread


@equation(
    "structural-inference",
    "19",
    tex=r"\lVert a u - b w \rVert^2 = a b \lVert u - w \rVert^2 + (a - b)(a \lVert u \rVert^2 - b \lVert w \rVert^2)",
)
def squared_difference(
    mass: Float[Tensor, "...", share],
    other_mass: Float[Tensor, "...", share],
    offset: Float[Tensor, "... width"],
    other_offset: Float[Tensor, "... width"],
) -> Float[Tensor, "..."]:
    """The squared distance of Eq. 14 as a part that grows with the values' distance and a part that may cancel it.

    ‖a u − b w‖² = ab ‖u − w‖² + (a − b)(a ‖u‖² − b ‖w‖²)

    a  mass          α_j
    b  other_mass    α'_j
    u  offset        v_j − μ
    w  other_offset  v'_j − μ
    """
    kept = mass * other_mass * (offset - other_offset).square().sum(-1)
    return kept + (mass - other_mass) * (mass * offset.square().sum(-1) - other_mass * other_offset.square().sum(-1))


@equation(
    "structural-inference",
    "20",
    tex=r"\lVert h - h^\prime \rVert \geq \sqrt{\alpha_j \alpha^\prime_j} \Delta",
    bound=True,
)
def aligned_lower_bound(
    mass: Float[Tensor, "...", share],
    other_mass: Float[Tensor, "...", share],
    separation: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """The clean lower bound, where the input with more attention on j also has the larger a ‖u‖².

    ‖h − h'‖ ≥ √(α_j α'_j) Δ if (a − b)(a ‖u‖² − b ‖w‖²) ≥ 0

    α_j   mass        on position j, for the one input
    α'_j  other_mass  for the other
    Δ     separation  at most ‖v_j − v'_j‖
    """
    return torch.sqrt(mass * other_mass) * separation


@equation(
    "structural-inference",
    "21",
    tex=r"\lVert h - h^\prime \rVert \geq \sqrt{\alpha_j \alpha^\prime_j \Delta^2"
    r" - \lvert \alpha_j - \alpha^\prime_j \rvert \max(\alpha_j, \alpha^\prime_j) \Delta_{\mathrm{emb}}^2}",
    bound=True,
)
def mismatched_lower_bound(
    mass: Float[Tensor, "...", share],
    other_mass: Float[Tensor, "...", share],
    separation: Float[Tensor, "...", nonnegative],
    spread: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """The lower bound in any case, 0 where the radicand is not positive and the bound is empty.

    ‖h − h'‖ ≥ √(α_j α'_j Δ² − |α_j − α'_j| max(α_j, α'_j) Δ_emb²)

    α_j    mass        on position j, for the one input
    α'_j   other_mass  for the other
    Δ      separation  at most ‖v_j − v'_j‖
    Δ_emb  spread      at least ‖v_j − μ‖ and ‖v'_j − μ‖

    The factor max(α_j, α'_j) is our reading. The paper says this dominates Eq. 18 for small |α_j − α'_j|; with the larger
    weight as α_j in Eq. 18 it never does, to first order: the gain is −|α_j − α'_j| (Δ − Δ_emb)² / 2Δ.
    """
    radicand = mass * other_mass * separation.square()
    radicand = radicand - (mass - other_mass).abs() * torch.maximum(mass, other_mass) * spread.square()
    return torch.sqrt(radicand.clamp_min(0))


@equation(
    "structural-inference",
    "28",
    tex=r"\lVert h - h^\prime \rVert \geq \gamma \Delta",
    bound=True,
    refuted="α_j = 1/2, α'_j = 1/4, v_j − μ = 1, v'_j − μ = 2: B_γ holds with γ = 1/4, Δ = 1, and h = h'",
)
def injectivity_margin(
    gamma: Float[Tensor, "...", positive], separation: Float[Tensor, "...", nonnegative]
) -> Float[Tensor, "..."]:
    """Injectivity, on which sufficiency rests: under B_γ inputs of different class are pooled apart.

    ‖h − h'‖ ≥ γ Δ

    γ  gamma       attention on every informative position of both inputs
    Δ  separation  at most ‖v_j − v'_j‖

    It holds when both inputs give j the same attention, and inputs differ at j alone. It fails when the attentions differ
    in inverse proportion to the values' offsets, and no smaller Δ > 0 mends that. It fails too for inputs that differ at
    two positions: with e_j = E[token] + P[j] and the oracle's attention, (a, b) and (b, a) have the same h, although
    a − b, a ÷ b and σ∘π have different labels for them.
    """
    return gamma * separation
