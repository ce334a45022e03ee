"""Attention as a posterior over which tokens matter (structural inference, §4 and App. D.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..shapes import Bool, Float
from .equations import equation

if TYPE_CHECKING:
    from torch import Tensor


@equation("structural-inference", "§4.1")
def oracle_target(informative: Bool[Tensor, "... position"]) -> Float[Tensor, "... position"]:
    """The ground truth: equal mass on every informative position.

    α*_j = 1/k for j ∈ I*, else 0
    """
    return informative / informative.sum(-1, keepdim=True)


@equation("structural-inference", "§6, adversarial")
def adversarial_target(informative: Bool[Tensor, "... position"]) -> Float[Tensor, "... position"]:
    """The opposite of the ground truth: equal mass on every distractor, none elsewhere. The query is the last position.

    α_j = 1/(T−1−k) for j ∉ I*, j ≠ q, else 0
    """
    distractor = ~informative
    distractor = torch.cat([distractor[..., :-1], torch.zeros_like(distractor[..., -1:])], -1)
    return distractor / distractor.sum(-1, keepdim=True)


def uniform_target(informative: Bool[Tensor, "... position"]) -> Float[Tensor, "... position"]:
    """Equal mass on every position, the query included: a prior that knows nothing."""
    return torch.full(informative.shape, 1 / informative.shape[-1], device=informative.device)


@equation("structural-inference", "3, left side")
def divergence(
    target: Float[Tensor, "... position"], log_attention: Float[Tensor, "... position"]
) -> Float[Tensor, "..."]:
    """Structural divergence between the oracle (or another target) and the attention.

    D = KL(α*‖α) = Σ_j α*_j log(α*_j / α_j), with 0·log 0 = 0

    α*     target          any distribution over positions
    log α  log_attention   logarithms, so that a vanishing weight keeps its gradient
    """
    return torch.special.xlogy(target, target).sum(-1) - (target * log_attention).sum(-1)


@equation("structural-inference", "2")
def least_mass(
    attention: Float[Tensor, "... position"], informative: Bool[Tensor, "... position"]
) -> Float[Tensor, "..."]:
    """The least attention on an informative position; B_γ asks that it be at least γ for every input.

    min_{j ∈ I*} α_j
    """
    return attention.masked_fill(~informative, float("inf")).amin(-1)


def attention_entropy(log_attention: Float[Tensor, "... position"]) -> Float[Tensor, "..."]:
    """H(α) = −Σ_j α_j log α_j, in nats."""
    return -(log_attention.exp() * log_attention).sum(-1)


@equation("structural-inference", "45")
def kl_logit_gradient(
    attention: Float[Tensor, "... position"], target: Float[Tensor, "... position"]
) -> Float[Tensor, "... position"]:
    """Gradient of KL(α*‖α) with respect to the attention logits; it does not fade when the task loss does.

    ∂D/∂ℓ_j = α_j − α*_j

    α   attention   softmax of the logits ℓ
    α*  target      the oracle, uniform on the informative positions
    """
    return attention - target
