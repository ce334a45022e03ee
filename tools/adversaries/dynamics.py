"""Adversaries of KL acceleration and of the logit-variance bound.

Towards the oracle (1, 0) the flow of Eq. 47 is solved by hand: with z = ℓ₁ − ℓ₂, D = log(1 + e^−z) and dz/dt = 2β̃/(1 + e^z),
so 2β̃t is the growth of z + e^z.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from grokscope.papers.structural_inference.equations import (
    attention_logits,
    delay_bound,
    divergence_envelope,
    divergence_flow,
    local_pl_constant,
    logit_variance_bound,
    pl_constant,
    sparse_divergence_envelope,
)
from grokscope.theory import divergence, logit_variance

from .base import adversary, split


def squared_distance(target: Tensor, attention: Tensor) -> Tensor:
    """‖α − α*‖²"""
    return -divergence_flow(attention, target, torch.ones(()))


@adversary("50", size=6)
def _(numbers: Tensor) -> Tensor:
    target, log_attention = torch.softmax(numbers[..., :3], -1), torch.log_softmax(numbers[..., 3:], -1)
    return local_pl_constant(target) * divergence(target, log_attention) / squared_distance(target, log_attention.exp())


@adversary("50, exact", size=6)
def _(numbers: Tensor) -> Tensor:
    target, log_attention = torch.softmax(numbers[..., :3], -1), torch.log_softmax(numbers[..., 3:], -1)
    attention = log_attention.exp()
    return pl_constant(attention, target) * divergence(target, log_attention) / squared_distance(target, attention)


def sparse_flow(numbers: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """D at the start, D when it has at least halved, least mass on the way, and the time between, for β̃ = 1."""
    start = numbers[..., 0]
    initial = F.softplus(-start)
    final = initial / 2 * torch.sigmoid(numbers[..., 1])
    end = -torch.log(torch.expm1(final))
    return initial, final, torch.sigmoid(start), (end + end.exp() - start - start.exp()) / 2


ORACLE = torch.tensor([1.0, 0.0], dtype=torch.float64)


@adversary("52", size=2)
def _(numbers: Tensor) -> Tensor:
    initial, final, _, time = sparse_flow(numbers)
    return final / divergence_envelope(initial, local_pl_constant(ORACLE), time)


@adversary("52, sparse", size=2)
def _(numbers: Tensor) -> Tensor:
    initial, final, mass, time = sparse_flow(numbers)
    return final / sparse_divergence_envelope(initial, 1.0, 1.0, mass, time)


@adversary("53", size=2)
def _(numbers: Tensor) -> Tensor:
    initial, final, _, time = sparse_flow(numbers)
    return time / delay_bound(initial, final, local_pl_constant(ORACLE))


@adversary("Conj. E.1", size=10)
def _(numbers: Tensor) -> Tensor:
    query, keys, interaction = split(numbers, (2,), (2, 2), (2, 2))
    bound = logit_variance_bound(interaction, query.norm(dim=-1), keys.norm(dim=-1).amax(-1))
    return logit_variance(attention_logits(query, keys, interaction)) / bound
