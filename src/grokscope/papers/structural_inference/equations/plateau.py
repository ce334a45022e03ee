"""How long the explaining-away plateau lasts (structural inference, §5.1 and App. D.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from ....shapes import Float
from ....theory.contracts import Number, below_one, nonnegative, positive, rate
from ....theory.equations import equation


@equation(
    "structural-inference",
    "39",
    tex=r"\lVert \theta_t \rVert_F^2 \leq (1 - \lambda)^t \lVert \theta_{\mathrm{mem}} \rVert_F^2",
    bound=True,
)
def norm_envelope(
    norm: Float[Tensor, "...", nonnegative],
    decay: Float[Number, "...", rate],
    steps: Float[Number, "...", nonnegative],
) -> Float[Tensor, "..."]:
    """The norm that weights can still have after some steps of contraction without task gradient (ρ̄ = 0).

    ‖θ_t‖ ≤ (1 − λ)^(t/2) ‖θ_mem‖

    ‖θ_mem‖  norm   Frobenius, when the training set was memorised
    λ        decay  effective decay η·wd
    t        steps  since then
    """
    return norm * (1 - decay) ** (steps / 2)


@equation(
    "structural-inference",
    "5",
    "40",
    tex=r"t_c - t_{\mathrm{mem}} \geq \frac{2}{\lambda} \log \frac{\lVert \theta_{\mathrm{mem}} \rVert_F}{r_{\max}}",
    bound=True,
    refuted="it is solved from an upper bound on the norm, which bounds no time from below: a norm that falls faster than the"
    " bound allows, as any gradient may make it, is at r_max sooner, whatever the constant",
)
def plateau_length(
    norm: Float[Tensor, "...", positive], ceiling: Float[Tensor, "...", positive], decay: Float[Number, "...", rate]
) -> Float[Tensor, "..."]:
    """How long the plateau lasts, as the paper has it: "a strict lower bound".

    t_c − t_mem ≥ (2/λ) log(‖θ_mem‖_F / r_max)

    ‖θ_mem‖  norm     when the training set was memorised
    r_max    ceiling  outside radius of the Goldilocks shell
    λ        decay    effective decay η·wd

    It is solved from an upper bound on the norm (Eq. 39), so what follows is the other direction: with ρ̄ = 0 the norm has
    fallen to r_max after *at most* this many steps. A task gradient can make it faster or slower.
    """
    return 2 / decay * torch.log(norm / ceiling)


@equation(
    "structural-inference",
    "5, free decay",
    tex=r"t = \frac{\log(\lVert \theta_{\mathrm{mem}} \rVert_F / r_{\max})}{-\log(1 - \lambda)}",
)
def free_decay_time(
    norm: Float[Tensor, "...", positive],
    ceiling: Float[Tensor, "...", positive],
    decay: Float[Number, "...", rate, below_one],
) -> Float[Tensor, "..."]:
    """How long decoupled weight decay alone takes, exactly: what a measured plateau is to be compared with. Not in the paper.

    t = log(‖θ_mem‖ / r_max) / −log(1 − λ)

    ‖θ_mem‖  norm     when the training set was memorised
    r_max    ceiling  outside radius of the Goldilocks shell
    λ        decay    effective decay η·wd
    """
    return torch.log(norm / ceiling) / -torch.log1p(-torch.as_tensor(decay, dtype=norm.dtype))
