"""Attention as a posterior over which tokens matter (structural inference, §4.1, §6, App. D.4 and E)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..shapes import Bool, Float, Int
from .contracts import distribution, log_distribution, spare, support
from .equations import equation


def informative_mask(positions: Int[Tensor, "... k"], length: int) -> Bool[Tensor, "... position"]:
    """The set I* as booleans over a sequence of `length` positions."""
    outside = positions[(positions < 0) | (positions >= length)]
    if outside.numel():
        raise ValueError(f"positions: {outside[0].item()} is outside a sequence of {length} positions")
    return (positions.unsqueeze(-1) == torch.arange(length, device=positions.device)).any(-2)


@equation(
    "structural-inference",
    "§4.1",
    tex=r"\alpha^\ast_j = \frac{1}{k} \quad (j \in I^\ast), \quad 0 \quad (j \notin I^\ast)",
)
def oracle_target(
    informative: Bool[Tensor, "... position", support], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "... position"]:
    """The ground truth: equal mass on every informative position.

    α*_j = 1/k for j ∈ I*, else 0

    I*  informative  k of the positions, k ≥ 1
    """
    return informative.to(dtype) / informative.sum(-1, keepdim=True)


@equation(
    "structural-inference",
    "§6, adversarial",
    tex=r"\alpha^{\mathrm{adv}}_j = \frac{1}{T - 1 - k} \quad (j \notin I^\ast, j \neq q), \quad 0 \quad \mathrm{else}",
)
def adversarial_target(
    informative: Bool[Tensor, "... position", spare], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "... position"]:
    """The opposite of the ground truth: equal mass on every distractor, none elsewhere. The query is the last position.

    α_j = 1/(T−1−k) for j ∉ I*, j ≠ q, else 0

    I*  informative  k of the positions; at least one other stands before the query q
    """
    distractor = ~informative
    distractor = torch.cat([distractor[..., :-1], torch.zeros_like(distractor[..., -1:])], -1)
    return distractor.to(dtype) / distractor.sum(-1, keepdim=True)


def uniform_target(informative: Bool[Tensor, "... position"]) -> Float[Tensor, "... position"]:
    """Equal mass on every position, the query included: a prior that knows nothing."""
    return torch.full(informative.shape, 1 / informative.shape[-1], device=informative.device)


@equation(
    "structural-inference",
    "3, left side",
    tex=r"D = \mathrm{KL}(\alpha^\ast \Vert \alpha) = \sum_j \alpha^\ast_j \log \frac{\alpha^\ast_j}{\alpha_j}",
)
def divergence(
    target: Float[Tensor, "... position", distribution],
    log_attention: Float[Tensor, "... position", log_distribution],
) -> Float[Tensor, "..."]:
    """Structural divergence between the oracle (or another target) and the attention.

    D = KL(α*‖α) = Σ_j α*_j log(α*_j / α_j), with 0·log 0 = 0

    α*     target         any distribution over positions
    log α  log_attention  finite logarithms, so that a vanishing weight keeps its gradient
    """
    return (torch.special.xlogy(target, target) - target * log_attention).sum(-1)


def attention_entropy(log_attention: Float[Tensor, "... position"]) -> Float[Tensor, "..."]:
    """H(α) = −Σ_j α_j log α_j, in nats."""
    return -(log_attention.exp() * log_attention).sum(-1)


@equation(
    "structural-inference",
    "55, mean",
    tex=r"\log \bar{\alpha}_j = \log \frac{1}{H} \sum_{r=1}^{H} \alpha_j^{(r)}",
)
def log_mean_attention(
    log_attention: Float[Tensor, "... head position", log_distribution],
) -> Float[Tensor, "... position"]:
    """The attention of several heads together: Conj. E.2 asks that their sum cover every informative position.

    log ᾱ_j = log (1/H) Σ_r α_j^r

    log α  log_attention  of each of H heads

    The mean is a distribution, so that D and B_γ are defined for it; the paper takes the sum, H times as much.
    """
    heads = log_attention.shape[-2]
    if heads == 1:
        return log_attention.squeeze(-2)
    return torch.logsumexp(log_attention, -2) - math.log(heads)


@equation("structural-inference", "2", tex=r"\min_{j \in I^\ast} \alpha_j")
def least_mass(
    attention: Float[Tensor, "... position", distribution], informative: Bool[Tensor, "... position", support]
) -> Float[Tensor, "..."]:
    """The least attention on an informative position; B_γ asks that it be at least γ for every input.

    min_{j ∈ I*} α_j

    α   attention    at the query
    I*  informative  k ≥ 1 of the positions
    """
    return attention.masked_fill(~informative, float("inf")).amin(-1)


@equation("structural-inference", "45", tex=r"\frac{\partial D}{\partial \ell_j} = \alpha_j - \alpha^\ast_j")
def kl_logit_gradient(
    attention: Float[Tensor, "... position", distribution], target: Float[Tensor, "... position", distribution]
) -> Float[Tensor, "... position"]:
    """Gradient of KL(α*‖α) with respect to the attention logits; it does not fade when the task loss does.

    ∂D/∂ℓ_j = α_j − α*_j

    α   attention  softmax of the logits ℓ
    α*  target     the oracle, uniform on the informative positions

    For linear ReLU attention it is (1 − α*_j/α_j)/Σ_i relu(ℓ_i) where ℓ_j > 0 and zero elsewhere: a position whose score
    has died gets no gradient back.
    """
    return attention - target


@equation(
    "structural-inference",
    "Conj. E.1, variance",
    tex=r"\mathrm{Var}_j(\ell_j) = \frac{1}{T} \sum_j (\ell_j - \bar{\ell})^2",
)
def logit_variance(logits: Float[Tensor, "... position"]) -> Float[Tensor, "..."]:
    """How uneven the attention logits are; softmax sees nothing else of them but their differences.

    Var(ℓ) = (1/T) Σ_j (ℓ_j − ℓ̄)²

    ℓ  logits  of one query
    """
    # by hand: `var` over a short last axis is slow on a CPU
    return (logits - logits.mean(-1, keepdim=True)).square().mean(-1)
