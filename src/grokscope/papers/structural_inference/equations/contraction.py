"""Norm-contractive optimizers: λ and ρ̄ of SGD, AdamW, Muon and Lion (structural inference, Def. 3.2 and App. B).

One step is W⁺ = (1 − λ) W − η U with λ = η·wd. Young's inequality on the cross term gives ‖W⁺‖² ≤ (1 − λ)‖W‖² + (η/wd) ‖U‖²;
what remains is how large a step U each optimizer can make. Hyperparameters may be plain numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....shapes import Float
from ....theory.contracts import Number, below_one, nonnegative, positive, rate
from ....theory.equations import equation


@equation("structural-inference", "App. B, λ", tex=r"\lambda = \eta \cdot \mathrm{wd}")
def effective_decay(lr: Float[Number, "...", nonnegative], weight_decay: Float[Number, "...", nonnegative]) -> Number:
    """What weight decay takes from a weight in one step.

    λ = η · wd

    η   lr            learning rate
    wd  weight_decay  the hyperparameter
    """
    return lr * weight_decay


@equation(
    "structural-inference",
    "1",
    "Def. 3.2",
    tex=r"\lVert W_{t+1} \rVert_F^2 \leq (1 - \lambda) \lVert W_t \rVert_F^2 + \bar{\rho}",
    bound=True,
)
def contraction_bound(
    squared_norm: Float[Tensor, "...", nonnegative],
    decay: Float[Number, "...", rate],
    growth: Float[Number, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """How large a weight matrix can be after one step of a norm-contractive optimizer.

    ‖W⁺‖² ≤ (1 − λ) ‖W‖² + ρ̄

    ‖W‖²  squared_norm  Frobenius, before the step
    λ     decay         effective decay η·wd, at most 1
    ρ̄     growth        from Prop. B.1 or B.2

    With equality at the fixed point U = −wd·W. Without any gradient ‖W⁺‖² is (1 − λ)² ‖W‖²: half of the decay has paid
    for the cross term.
    """
    return (1 - decay) * squared_norm + growth


@equation(
    "structural-inference",
    "22",
    "Prop. B.1",
    tex=r"\bar{\rho}_{\mathrm{SGD}} = \frac{\eta}{\mathrm{wd}} \sup \lVert g \rVert_F^2",
)
def sgd_growth(
    lr: Float[Number, "...", positive],
    weight_decay: Float[Number, "...", positive],
    gradient_norm: Float[Number, "...", nonnegative],
) -> Number:
    """The growth term of SGD with L2 and no momentum.

    ρ̄ = (η/wd) sup‖g‖²

    η       lr             learning rate
    wd      weight_decay   factor of W in the gradient
    sup‖g‖  gradient_norm  largest Frobenius norm of the gradient without the decay
    """
    return decoupled_growth(lr, weight_decay, gradient_norm)


@equation(
    "structural-inference",
    "Prop. B.2",
    tex=r"\bar{\rho} = \frac{\eta}{\mathrm{wd}} \sup \lVert U \rVert_F^2",
)
def decoupled_growth(
    lr: Float[Number, "...", positive],
    weight_decay: Float[Number, "...", positive],
    step_norm: Float[Number, "...", nonnegative],
) -> Number:
    """The growth term of an optimizer with decoupled decay.

    ρ̄ = (η/wd) sup‖U‖²

    η       lr            learning rate
    wd      weight_decay  the hyperparameter
    sup‖U‖  step_norm     largest Frobenius norm of a step, from the bounds below
    """
    return lr / weight_decay * step_norm**2


@equation(
    "structural-inference",
    "App. B, radius",
    tex=r"\bar{\rho} < \lambda \lVert W \rVert_F^2 \quad \mathrm{iff} \quad"
    r" \lVert W \rVert_F > \frac{\sup \lVert U \rVert_F}{\mathrm{wd}}",
)
def contraction_radius(
    step_norm: Float[Number, "...", nonnegative], weight_decay: Float[Number, "...", positive]
) -> Number:
    """The norm above which Def. 3.2 promises that a step shrinks the weights; below it, it promises nothing.

    ρ̄ < λ‖W‖² exactly when ‖W‖ > sup‖U‖ / wd

    sup‖U‖  step_norm     largest Frobenius norm of a step
    wd      weight_decay  the hyperparameter

    With wd = 1 the radius is √(mn) for Lion and 7.3 √(mn) for AdamW (0.9, 0.999), while a freshly drawn matrix with
    entries of size 1/√m has norm √n: the property is empty at the paper's default.
    """
    return step_norm / weight_decay


@equation(
    "structural-inference",
    "Prop. B.2, AdamW",
    tex=r"\lVert U \rVert_F \leq \sqrt{m n} \frac{1 - \beta_1}{\sqrt{1 - \beta_2}}",
    bound=True,
    fails_as_restored="(β₁, β₂) = (0.9, 0.98), first step: U = sign(g), ‖U‖ = √(mn), but the bound is 0.71 √(mn)",
)
def adamw_step_bound(
    entries: Float[Number, "...", positive],
    beta1: Float[Number, "...", below_one],
    beta2: Float[Number, "...", below_one],
) -> Number:
    """How large a step of AdamW can be, as the paper has it.

    ‖U‖_F ≤ √(mn) (1 − β₁)/√(1 − β₂)

    mn  entries  of the matrix
    β₁  beta1    decay of the mean of gradients
    β₂  beta2    decay of the mean of squares

    That is the step after one gradient that follows zeros. Gradients that have grown for a while step further:
    2.3 times as far for (0.9, 0.999).
    """
    return (1 - beta1) / (1 - beta2) ** 0.5 * entries**0.5


@equation(
    "structural-inference",
    "Prop. B.2, AdamW, exact",
    tex=r"\lVert U \rVert_F \leq \sqrt{m n} \frac{1 - \beta_1}{\sqrt{(1 - \beta_2)(1 - \beta_1^2 / \beta_2)}}",
    bound=True,
)
def adamw_step_bound_exact(
    entries: Float[Number, "...", positive],
    beta1: Float[Number, "...", below_one],
    beta2: Float[Number, "...", below_one, positive],
) -> Tensor:
    """How large a step of AdamW can be, by Cauchy–Schwarz on the two running means; not in the paper.

    ‖U‖_F ≤ √(mn) (1 − β₁)/√((1 − β₂)(1 − β₁²/β₂))

    mn  entries  of the matrix
    β₁  beta1    decay of the mean of gradients
    β₂  beta2    decay of the mean of squares

    Approached by gradients that grow by β₂/β₁ per step. Infinite when β₁² ≥ β₂: then no bound exists.
    """
    squares = (1 - beta2) * (1 - beta1**2 / beta2)
    squares = squares if isinstance(squares, Tensor) else torch.tensor(squares, dtype=torch.float64)
    return (1 - beta1) * entries**0.5 * squares.clamp_min(0).rsqrt()


@equation(
    "structural-inference",
    "Prop. B.2, Muon",
    tex=r"\lVert U \rVert_F \leq s \sqrt{\mathrm{rank}} (1 + \varepsilon)",
    bound=True,
)
def muon_step_bound(
    rank: Float[Number, "...", positive],
    scale: Float[Number, "...", positive] = 1.0,
    excess: Float[Number, "...", nonnegative] = 0.2024,
) -> Number:
    """How large a step of Muon can be.

    ‖U‖_F ≤ s √rank (1 + ε)

    rank  rank    at most the shorter side of the matrix
    s     scale   what multiplies the orthogonalised step, e.g. √max(1, output/input)
    ε     excess  largest singular value after Newton–Schulz, less 1

    ε is no small error: the usual quintic iteration leaves singular values up to 1.2024.
    """
    return scale * rank**0.5 * (1 + excess)


@equation("structural-inference", "Prop. B.2, Lion", tex=r"\lVert U \rVert_F \leq \sqrt{m n}", bound=True)
def lion_step_bound(entries: Float[Number, "...", positive]) -> Number:
    """How large a step of Lion is: every entry is a sign.

    ‖U‖_F ≤ √(mn)

    mn  entries  of the matrix
    """
    return entries**0.5
