"""Adversaries of the optimizer bounds and of the plateau: one step with free weights and gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from grokscope.papers.structural_inference.equations import (
    adamw_step_bound,
    adamw_step_bound_exact,
    contraction_bound,
    decoupled_growth,
    free_decay_time,
    lion_step_bound,
    muon_step_bound,
    norm_envelope,
    plateau_length,
)

from .base import adversary, split


@adversary("1", size=6)
def _(numbers: Tensor) -> Tensor:
    weight, step, decay, lr = split(numbers, (2,), (2,), (), ())
    decay, lr = torch.sigmoid(decay), lr.exp()
    after = (1 - decay).unsqueeze(-1) * weight - lr.unsqueeze(-1) * step
    growth = decoupled_growth(lr, decay / lr, step.norm(dim=-1))
    return after.square().sum(-1) / contraction_bound(weight.square().sum(-1), decay, growth)


def adam_step(growth: Tensor, beta1: float = 0.9, beta2: float = 0.98, steps: int = 400) -> Tensor:
    """|m̂|/√v̂ after gradients that grew by a factor e^growth at each step."""
    age = torch.arange(steps, dtype=growth.dtype)
    gradients = torch.exp(-growth.unsqueeze(-1) * age)
    mean = (1 - beta1) / (1 - beta1**steps) * (beta1**age * gradients).sum(-1)
    square = (1 - beta2) / (1 - beta2**steps) * (beta2**age * gradients.square()).sum(-1)
    return mean / square.sqrt()


@adversary("Prop. B.2, AdamW", size=1)
def _(numbers: Tensor) -> Tensor:
    return adam_step(numbers[..., 0]) / adamw_step_bound(1.0, 0.9, 0.98)


@adversary("Prop. B.2, AdamW, exact", size=1)
def _(numbers: Tensor) -> Tensor:
    return adam_step(numbers[..., 0]) / adamw_step_bound_exact(1.0, 0.9, 0.98)


@adversary("Prop. B.2, Muon", size=2)
def _(numbers: Tensor) -> Tensor:
    """Newton–Schulz acts on the singular values alone: five times 3.4445 s − 4.7750 s³ + 2.0315 s⁵."""
    s = numbers.abs() / numbers.norm(dim=-1, keepdim=True)
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return s.norm(dim=-1) / muon_step_bound(2.0)


@adversary("Prop. B.2, Lion", size=3)
def _(numbers: Tensor) -> Tensor:
    return numbers.sign().norm(dim=-1) / lion_step_bound(3.0)


@adversary("39", size=2)
def _(numbers: Tensor) -> Tensor:
    """Decay without gradient, until the norm has halved."""
    norm, decay = numbers[..., 0].exp(), torch.sigmoid(numbers[..., 1])
    steps = free_decay_time(norm, norm / 2, decay)
    return norm / 2 / norm_envelope(norm, decay, steps)


@adversary("5", size=3)
def _(numbers: Tensor) -> Tensor:
    """The norm reaches r_max by decay alone; λ at most 0.01, as in practice."""
    norm, ratio, decay = numbers[..., 0].exp(), numbers[..., 1].exp(), 0.01 * torch.sigmoid(numbers[..., 2])
    ceiling = norm / (1 + ratio)
    return plateau_length(norm, ceiling, decay) / free_decay_time(norm, ceiling, decay)
