"""Adversaries of the explaining-away chain: three positions of width 2, a ReLU network with two hidden units, two classes."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from grokscope.papers.structural_inference.equations import (
    logit_gradient,
    logit_gradient_cauchy_schwarz,
    pooled,
    residual_bound_sharp,
)
from grokscope.theory import (
    logit_gradient_bound,
    logit_gradient_bound_closed,
    representation_gradient_bound,
    residual_bound,
    spectral_norm,
    two_layer_lipschitz,
    value_gap_bound,
)

from .base import adversary, split


class Case(NamedTuple):
    """One example on its way through attention and MLP, and its gradient back to h."""

    attention: Tensor
    values: Tensor
    pooled: Tensor
    value_norm: Tensor
    embedding_norm: Tensor
    lipschitz: Tensor
    residual: Tensor
    """p − y"""
    gradient: Tensor
    """∇_h CE"""
    cross_entropy: Tensor


SIZE = 3 + 6 + 4 + 4 + 4


def case(numbers: Tensor) -> Case:
    logits, embeddings, W_V, W_in, W_out = split(numbers, (3,), (3, 2), (2, 2), (2, 2), (2, 2))
    attention, values = torch.softmax(logits, -1), embeddings @ W_V
    h = pooled(attention, values)
    hidden = h.unsqueeze(-2) @ W_in
    log_p = torch.log_softmax((torch.relu(hidden) @ W_out).squeeze(-2), -1)
    residual = log_p.exp() - torch.tensor([1.0, 0.0], dtype=log_p.dtype)
    gradient = ((hidden > 0) * (residual.unsqueeze(-2) @ W_out.mT)) @ W_in.mT
    embedding_norm = embeddings.norm(dim=-1).amax(-1)
    norms = spectral_norm(W_V), embedding_norm, two_layer_lipschitz(W_in, W_out)
    return Case(attention, values, h, *norms, residual, gradient.squeeze(-2), -log_p[..., 0])


@adversary("29", size=3)
def _(numbers: Tensor) -> Tensor:
    log_p = torch.log_softmax(numbers, -1)
    residual = log_p.exp() - torch.tensor([1.0, 0.0, 0.0], dtype=log_p.dtype)
    return residual.norm(dim=-1) / residual_bound(-log_p[..., 0])


@adversary("29, sharp", size=3)
def _(numbers: Tensor) -> Tensor:
    log_p = torch.log_softmax(numbers, -1)
    residual = log_p.exp() - torch.tensor([1.0, 0.0, 0.0], dtype=log_p.dtype)
    return residual.norm(dim=-1) / residual_bound_sharp(-log_p[..., 0])


@adversary("30", size=SIZE)
def _(numbers: Tensor) -> Tensor:
    c = case(numbers)
    return c.gradient.norm(dim=-1) / representation_gradient_bound(c.lipschitz, c.cross_entropy)


@adversary("34", size=SIZE)
def _(numbers: Tensor) -> Tensor:
    c = case(numbers)
    gap = (c.values - c.pooled.unsqueeze(-2)).norm(dim=-1)
    bound = logit_gradient_cauchy_schwarz(c.attention, gap, c.gradient.norm(dim=-1))
    return (logit_gradient(c.attention, c.values, c.gradient).abs() / bound)[..., 0]


@adversary("36", size=SIZE)
def _(numbers: Tensor) -> Tensor:
    c = case(numbers)
    return (c.values[..., 0, :] - c.pooled).norm(dim=-1) / value_gap_bound(c.value_norm, c.embedding_norm)


@adversary("4, tight", size=SIZE)
def _(numbers: Tensor) -> Tensor:
    c = case(numbers)
    bound = logit_gradient_bound(c.attention, c.values, c.pooled, c.lipschitz, c.cross_entropy)
    return (logit_gradient(c.attention, c.values, c.gradient).abs() / bound)[..., 0]


@adversary("4", size=SIZE)
def _(numbers: Tensor) -> Tensor:
    c = case(numbers)
    bound = logit_gradient_bound_closed(c.lipschitz, c.value_norm, c.embedding_norm, c.cross_entropy)
    return logit_gradient(c.attention, c.values, c.gradient).abs()[..., 0] / bound
