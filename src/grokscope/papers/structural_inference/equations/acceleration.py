"""KL acceleration: a gradient on attention that does not wait for the loss (structural inference, Thm 5.2 and App. D.4).

The flow here is the paper's: each logit follows its own gradient. In training the logits share the matrix M.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....shapes import Float
from ....theory.attention import kl_logit_gradient
from ....theory.contracts import Number, distribution, everywhere, nonnegative, positive
from ....theory.equations import equation


@equation("structural-inference", "6", tex=r"\mathcal{L} = \mathrm{CE} + \beta \mathrm{KL}(\alpha^\ast \Vert \alpha)")
def augmented_loss(
    cross_entropy: Float[Tensor, "...", nonnegative],
    divergence: Float[Tensor, "...", nonnegative],
    strength: Float[Number, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """The loss with its structural prior.

    L = CE + β D

    CE  cross_entropy  task loss
    D   divergence     KL(α*‖α)
    β   strength       of the prior
    """
    return cross_entropy + strength * divergence


@equation(
    "structural-inference",
    "42",
    tex=r"\frac{\partial \alpha_i}{\partial \ell_j} = \alpha_i (\delta_{ij} - \alpha_j)",
)
def softmax_jacobian(
    attention: Float[Tensor, "... position", distribution],
) -> Float[Tensor, "... position position"]:
    """How each weight moves with each logit; symmetric, and its rows sum to zero.

    ∂α_i/∂ℓ_j = α_i (δ_ij − α_j)

    α  attention  softmax of the logits ℓ
    """
    return torch.diag_embed(attention) - attention.unsqueeze(-1) * attention.unsqueeze(-2)


@equation(
    "structural-inference",
    "8",
    tex=r"\frac{\partial \mathcal{L}}{\partial \ell_j} ="
    r" \frac{\partial \mathrm{CE}}{\partial \ell_j} + \beta (\alpha_j - \alpha^\ast_j)",
)
def augmented_logit_gradient(
    task_gradient: Float[Tensor, "... position"],
    attention: Float[Tensor, "... position", distribution],
    target: Float[Tensor, "... position", distribution],
    strength: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "... position"]:
    """The gradient on the attention logits has a part that starves and a part that does not.

    ∂L/∂ℓ_j = ∂CE/∂ℓ_j + β (α_j − α*_j)

    ∂CE/∂ℓ_j  task_gradient  vanishes with the loss
    α         attention      softmax of the logits ℓ
    α*        target         the oracle
    β         strength       of the prior
    """
    return task_gradient + strength.unsqueeze(-1) * kl_logit_gradient(attention, target)


@equation(
    "structural-inference",
    "47",
    tex=r"\frac{\mathrm{d} \ell_j}{\mathrm{d} t} = -\tilde{\beta} (\alpha_j - \alpha^\ast_j)",
)
def logit_flow(
    attention: Float[Tensor, "... position", distribution],
    target: Float[Tensor, "... position", distribution],
    strength: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "... position"]:
    """How the logits move when the prior alone acts on them.

    dℓ_j/dt = −β̃ (α_j − α*_j)

    α   attention  softmax of the logits ℓ
    α*  target     the oracle
    β̃   strength   effective, proportional to ηβ
    """
    return -strength.unsqueeze(-1) * kl_logit_gradient(attention, target)


@equation(
    "structural-inference",
    "48",
    tex=r"\frac{\mathrm{d} D}{\mathrm{d} t} = -\tilde{\beta} \lVert \alpha - \alpha^\ast \rVert_2^2",
)
def divergence_flow(
    attention: Float[Tensor, "... position", distribution],
    target: Float[Tensor, "... position", distribution],
    strength: Float[Tensor, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """How fast the divergence falls along that flow; it never rises.

    dD/dt = −β̃ ‖α − α*‖²

    α   attention  softmax of the logits ℓ
    α*  target     the oracle
    β̃   strength   effective, proportional to ηβ
    """
    return -strength * kl_logit_gradient(attention, target).square().sum(-1)


@equation(
    "structural-inference",
    "49",
    tex=r"D \approx \frac{1}{2} \sum_j \frac{(\alpha_j - \alpha^\ast_j)^2}{\alpha^\ast_j}",
)
def quadratic_divergence(
    attention: Float[Tensor, "... position", distribution],
    target: Float[Tensor, "... position", distribution, everywhere],
) -> Float[Tensor, "..."]:
    """The divergence near a target that has mass everywhere, to second order.

    D ≈ ½ Σ_j (α_j − α*_j)² / α*_j

    α   attention  close to the target
    α*  target     positive at every position

    A sparse oracle is not such a target: there D grows linearly with the mass on distractors.
    """
    return ((attention - target).square() / target).sum(-1) / 2


@equation(
    "structural-inference",
    "50",
    "Lemma D.1",
    tex=r"\lVert \alpha - \alpha^\ast \rVert_2^2 \geq 2 \min_{j \in I^\ast} \alpha^\ast_j \cdot D",
    bound=True,
    fails_as_restored="the lemma is stated for a target with mass everywhere, where it is true near the target with any smaller"
    " constant; for a sparse oracle no constant is enough: α* = (1, 0) has ‖α − α*‖² = 2m², but D ≥ m",
)
def local_pl_constant(target: Float[Tensor, "... position", distribution]) -> Float[Tensor, "..."]:
    """The local Polyak–Łojasiewicz constant: how much gradient a given divergence guarantees near the oracle.

    ‖α − α*‖² ≥ 2 min_{j ∈ I*} α*_j · D

    α*  target  the oracle; I* is where it is positive

    True in the limit α → α* of a target with mass everywhere, not in any neighbourhood. For a sparse oracle, the paper's
    own, no constant above 0 is true however close α is: a mass m left on distractors makes D ≈ m but ‖α − α*‖² ≈ m².
    """
    return 2 * target.masked_fill(target == 0, float("inf")).amin(-1)


@equation(
    "structural-inference",
    "50, exact",
    tex=r"\lVert \alpha - \alpha^\ast \rVert_2^2"
    r" \geq 2 \min_j \alpha^\ast_j \cdot \min_j \frac{\alpha_j}{\alpha^\ast_j} \cdot D",
    bound=True,
)
def pl_constant(
    attention: Float[Tensor, "... position", distribution],
    target: Float[Tensor, "... position", distribution, everywhere],
) -> Float[Tensor, "..."]:
    """A constant that is true at every distance from a target with mass everywhere; not in the paper.

    ‖α − α*‖² ≥ 2 min_j α*_j · min_j (α_j / α*_j) · D

    α   attention  anywhere in the simplex
    α*  target     positive at every position
    """
    return 2 * target.amin(-1) * (attention / target).amin(-1)


@equation(
    "structural-inference",
    "52",
    tex=r"D_t \leq D_0 e^{-\tilde{\beta} t}",
    bound=True,
    refuted="sparse oracle (1, 0), whatever the constant in β̃: D_t approaches 1/(2β̃t), slower than every exponential",
)
def divergence_envelope(
    initial: Float[Tensor, "...", nonnegative],
    speed: Float[Number, "...", nonnegative],
    time: Float[Number, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """Exponential decay of the divergence under the prior.

    D_t ≤ D_0 e^{−β̃t}

    D_0  initial  divergence at the start
    β̃    speed    strength times the PL constant
    t    time     in steps

    True for a target with mass everywhere, if the constant of Eq. 50 (exact) is taken as its least value on the way. For a
    sparse oracle that constant is 0; "52, sparse" holds instead.
    """
    return initial * torch.exp(torch.as_tensor(-speed * time, dtype=initial.dtype))


@equation(
    "structural-inference",
    "52, sparse",
    tex=r"D_t \leq \frac{1}{1 / D_0 + \tilde{\beta} k \gamma^2 t}",
    bound=True,
)
def sparse_divergence_envelope(
    initial: Float[Tensor, "...", positive],
    strength: Float[Number, "...", nonnegative],
    informative_count: Float[Number, "...", positive],
    least_mass: Float[Tensor, "...", nonnegative],
    time: Float[Number, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """Decay of the divergence towards a sparse oracle: a power of time, not an exponential; not in the paper.

    D_t ≤ 1 / (1/D_0 + β̃ k γ² t), from D ≤ ‖α − α*‖ / (√k γ)

    D_0  initial            divergence at the start
    β̃    strength           effective, proportional to ηβ
    k    informative_count  number of informative positions
    γ    least_mass         least attention on them, from the start until t
    t    time               in steps
    """
    return 1 / (1 / initial + strength * informative_count * least_mass**2 * time)


@equation(
    "structural-inference",
    "7",
    "53",
    tex=r"t_{\mathrm{delay}} \leq \frac{1}{\tilde{\beta}} \log \frac{D_0}{\delta_{\mathrm{nec}}}",
    bound=True,
    fails_as_restored="it follows from Eq. 52 and holds where that does; oracle (1, 0) with the rate 2β̃ of Lemma D.1: from"
    " D_0 = log 2 to δ = 0.3 takes 3.5 times as long, so the constant in β̃ has to depend on δ",
)
def delay_bound(
    initial: Float[Tensor, "...", positive],
    necessary: Float[Tensor, "...", positive],
    speed: Float[Number, "...", positive],
) -> Float[Tensor, "..."]:
    """How long the prior needs to bring the divergence down to what generalisation requires.

    t ≤ (1/β̃) log(D_0 / δ_nec)

    D_0    initial    divergence at the start
    δ_nec  necessary  log(1/(kγ)), from Cor. 4.5
    β̃      speed      strength times the PL constant

    It stands and falls with Eq. 52. That the delay is proportional to 1/β needs no bound: β only sets the clock of the flow.
    """
    return torch.log(initial / necessary) / speed
