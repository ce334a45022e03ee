"""Explaining away on real runs: the task gradient that reaches attention, beneath the bound of Lemma 5.1 (training set)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..theory import logit_gradient_bound, logit_gradient_bound_at, logit_gradient_bound_closed
from .base import View, measures

if TYPE_CHECKING:
    from torch import Tensor


@measures.register("starvation")
def starvation(view: View) -> dict[str, Tensor]:
    """The task gradient that reaches attention on the training examples, and its bounds (Lemma 5.1).

    grad_M        Frobenius norm of the gradient of the mean cross-entropy on the interaction matrix M = W_Q W_Kᵀ
    grad_logit    largest |∂CE/∂ℓ_j| over examples, heads and positions
    bound         largest upper bound on it, in its tight form
    bound_paper   upper bound in closed form
    bound_ratio   largest measured/bound over examples and positions; above 1 there is a bug
    """
    if view.starvation is None:
        return {}
    seen, out = view.starvation, view.train.out
    gradient = seen.logit_gradient
    measured = gradient.abs()
    gradients = {"grad_logit": measured.amax()}
    if seen.interaction_gradient is not None:
        gradients = {"grad_M": seen.interaction_gradient.norm(), **gradients}
    if seen.sensitivity is None or seen.lipschitz is None:
        return gradients
    assert seen.value_norm is not None and seen.embedding_norm is not None
    # CE rounds to 0 in float32 below about 1e-7 while the gradient does not: keep the bound above that rounding
    loss = seen.cross_entropy.clamp_min(torch.finfo(torch.float32).eps)
    heads = gradient.shape[1]
    reach = seen.sensitivity
    scale = seen.lipschitz.expand(1, 1), loss[:, None].expand(-1, heads)
    if out.distance is None:
        assert out.pooled is not None and out.values is not None
        bound = logit_gradient_bound(reach, out.values, out.pooled, *scale)
    else:
        bound = logit_gradient_bound_at(reach, out.distance, *scale)
    closed = logit_gradient_bound_closed(seen.lipschitz, seen.value_norm, seen.embedding_norm, loss.amax())
    closed = closed * reach.amax().clamp_min(1.0)
    # where all mass is on one position, v_j − h and with it the bound are 0, and the gradient is rounding
    rounding = 1e-6 * closed
    return gradients | {
        "bound": bound.amax(),
        "bound_paper": closed,
        "bound_ratio": (measured / (bound + rounding)).amax(),
    }
