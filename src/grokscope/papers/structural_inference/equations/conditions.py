"""The two conditions of the decoupling theorem, as margins (structural inference, §4 and App. C.1)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ....shapes import Bool, Float
from ....theory.attention import least_mass
from ....theory.contracts import distribution, nonnegative, positive, share, support
from ....theory.equations import equation
from .geometry import difference_bound


class Condition(NamedTuple):
    """Whether something holds, and by how much."""

    holds: Bool[Tensor, "..."]
    margin: Float[Tensor, "..."]
    """Negative where the condition fails."""


def met(margin: Float[Tensor, "..."]) -> Condition:
    """The condition that a margin is not negative."""
    return Condition(margin >= 0, margin)


@equation(
    "structural-inference",
    "Def. 4.1",
    tex=r"\mathcal{B}_\gamma: \quad \min_x \min_{j \in I^\ast(x)} \alpha_j(x) \geq \gamma",
)
def structural_condition(
    attention: Float[Tensor, "... input position", distribution],
    informative: Bool[Tensor, "... input position", support],
    gamma: Float[Tensor, "...", positive],
) -> Condition:
    """The Bayesian structural condition: on every input, every informative position gets at least γ.

    B_γ: min_x min_{j ∈ I*(x)} α_j(x) − γ ≥ 0

    α   attention    one row per input
    I*  informative  may differ between inputs
    γ   gamma        threshold, from Thm 4.3
    """
    return met(least_mass(attention, informative).amin(-1) - gamma)


@equation(
    "structural-inference",
    "Def. 4.2",
    tex=r"\mathcal{N}: \quad r_{\min} \leq \lVert \theta_{\mathrm{MLP}} \rVert_F \leq r_{\max}",
)
def norm_condition(
    norm: Float[Tensor, "...", nonnegative],
    least: Float[Tensor, "...", nonnegative],
    most: Float[Tensor, "...", positive],
) -> Condition:
    """The Goldilocks condition: the MLP is neither too small to express the rule nor large enough to memorise.

    N: r_min ≤ ‖θ_MLP‖_F ≤ r_max

    ‖θ_MLP‖_F  norm   of all MLP weights together
    r_min      least  radius of the shell's inside
    r_max      most   radius of its outside
    """
    return met(torch.minimum(norm - least, most - norm))


@equation("structural-inference", "25", tex=r"\lVert f(h) - f(h^\prime) \rVert_2 \geq c")
def output_separation(
    logits: Float[Tensor, "... class"], other_logits: Float[Tensor, "... class"]
) -> Float[Tensor, "..."]:
    """How far apart the outputs for two inputs are; the margin c is its least value over pairs of different class.

    ‖f(h) − f(h')‖₂ ≥ c

    f(h)   logits        for the one input
    f(h')  other_logits  for the other, which differs at one informative position and in its label
    """
    return (logits - other_logits).norm(dim=-1)


@equation("structural-inference", "Thm 4.3", tex=r"\gamma = \frac{c}{L_{\max} \Delta_{\mathrm{emb}}}")
def threshold(
    margin: Float[Tensor, "...", positive],
    lipschitz: Float[Tensor, "...", positive],
    spread: Float[Tensor, "...", positive],
) -> Float[Tensor, "..."]:
    """The attention that an informative position needs before a bounded MLP can tell its tokens apart.

    γ = c / (L_max Δ_emb)

    c      margin     least distance between outputs of different class (Eq. 25)
    L_max  lipschitz  upper bound on the MLP's Lipschitz constant
    Δ_emb  spread     largest distance of a value from the centroid of the others (§3.2)

    A larger L_max or a smaller c makes γ smaller and the condition weaker; zero test error alone gives c > 0 and no more.
    """
    return margin / (lipschitz * spread)


@equation(
    "structural-inference",
    "26",
    tex=r"c \leq \lVert f(h) - f(h^\prime) \rVert_2 \leq L_{\max} (\alpha_j + \alpha^\prime_j) \Delta_{\mathrm{emb}}",
    bound=True,
)
def separation_bound(
    mass: Float[Tensor, "...", share],
    other_mass: Float[Tensor, "...", share],
    lipschitz: Float[Tensor, "...", nonnegative],
    spread: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """How far apart the outputs can be, given the attention on the position where two inputs differ.

    ‖f(h) − f(h')‖ ≤ L_max (α_j + α'_j) Δ_emb

    α_j    mass        on the differing position, for the one input
    α'_j   other_mass  for the other
    L_max  lipschitz   of the MLP
    Δ_emb  spread      largest ‖v_j − μ‖
    """
    return lipschitz * difference_bound(mass, other_mass, spread)


@equation(
    "structural-inference",
    "27",
    tex=r"\alpha_j + \alpha^\prime_j \geq \frac{c}{L_{\max} \Delta_{\mathrm{emb}}} = \gamma",
    bound=True,
)
def pair_condition(
    mass: Float[Tensor, "...", share], other_mass: Float[Tensor, "...", share], gamma: Float[Tensor, "...", positive]
) -> Condition:
    """What zero test error really requires: two inputs that differ at j and in class share at least γ there.

    α_j + α'_j − γ ≥ 0

    α_j   mass        on the differing position, for the one input
    α'_j  other_mass  for the other
    γ     gamma       c / (L_max Δ_emb)

    This is weaker than B_γ: one of the two may have no attention at all. Say the one token scores 0, the other 3, and the
    only other position 1 (linear attention): h = μ, h' = μ + ¾ (v'_j − μ). A linear f tells them apart, γ = ¾, and
    α_j = 0. So "zero test error implies B_γ" (Thm 4.3) does not follow.
    """
    return met(mass + other_mass - gamma)


@equation(
    "structural-inference",
    "3",
    "Cor. 4.5",
    tex=r"D \leq \delta_{\mathrm{nec}} = \log \frac{1}{k \gamma}",
    bound=True,
)
def necessary_divergence(
    informative: Bool[Tensor, "... position", support], gamma: Float[Tensor, "...", positive]
) -> Float[Tensor, "..."]:
    """The largest divergence from the oracle that B_γ allows.

    D ≤ δ_nec = log(1/(kγ)) whenever min_{I*} α_j ≥ γ

    k  informative  number of informative positions
    γ  gamma        threshold; above 1/k no attention can satisfy B_γ, and δ_nec is negative

    The converse fails: D ≤ δ_nec does not imply B_γ, nor does the pair condition imply D ≤ δ_nec.
    """
    return -torch.log(informative.sum(-1) * gamma)


@equation(
    "structural-inference",
    "23, sampled",
    tex=r"L_f \geq \frac{\lVert f(h) - f(h^\prime) \rVert}{\lVert h - h^\prime \rVert}",
)
def sampled_lipschitz(
    pooled: Float[Tensor, "... width"],
    other_pooled: Float[Tensor, "... width"],
    logits: Float[Tensor, "... class"],
    other_logits: Float[Tensor, "... class"],
) -> Float[Tensor, "..."]:
    """How fast the network did change between two inputs: a lower bound on its Lipschitz constant.

    L_f ≥ ‖f(h) − f(h')‖ / ‖h − h'‖

    h      pooled        of the one input
    h'     other_pooled  of the other
    f(h)   logits        of the one input
    f(h')  other_logits  of the other
    """
    return (logits - other_logits).norm(dim=-1) / (pooled - other_pooled).norm(dim=-1)
