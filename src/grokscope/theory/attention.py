"""Attention as a posterior over which tokens matter (structural inference, §3.2, §4.1, §6 and App. A.2, D.2)."""

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


@equation("structural-inference", "9", tex=r"h = \sum_j \alpha_j v_j, \quad v_j = W_V e_j")
def pooled(
    attention: Float[Tensor, "... position", distribution], values: Float[Tensor, "... position width"]
) -> Float[Tensor, "... width"]:
    """What attention passes on: the mean of the values, weighted by attention.

    h = Σ_j α_j v_j

    α    attention  at the query
    v_j  values     W_V e_j
    """
    return (attention.unsqueeze(-1) * values).sum(-2)


@equation("structural-inference", "38", tex=r"\ell_j = \frac{e_q^\top M e_j}{\sqrt{d}}, \quad M = W_Q^\top W_K")
def attention_logits(
    query: Float[Tensor, "... d"], keys: Float[Tensor, "... position d"], interaction: Float[Tensor, "... d d"]
) -> Float[Tensor, "... position"]:
    """How much the query asks for each position, before normalisation.

    ℓ_j = e_qᵀ M e_j / √d

    e_q  query        embedding at the query
    e_j  keys         embeddings of all positions
    M    interaction  W_Qᵀ W_K, query side first
    """
    return (query.unsqueeze(-2) @ interaction @ keys.mT).squeeze(-2) / math.sqrt(query.shape[-1])
