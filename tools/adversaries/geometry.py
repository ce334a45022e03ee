"""Adversaries of the bounds on pooled representations: two positions, values u and w at the first, 0 at the second.

Only offsets from the centroid enter, so nothing is lost by putting it at 0.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from grokscope.papers.structural_inference.equations import (
    aligned_lower_bound,
    centroid_gap,
    difference_bound,
    difference_bound_tight,
    difference_lower_bound,
    injectivity_margin,
    mismatched_lower_bound,
    necessary_divergence,
    output_separation,
    pair_condition,
    sampled_lipschitz,
    separation_bound,
    threshold,
    value_separation,
)
from grokscope.theory import divergence, least_mass, residual_lipschitz, two_layer_lipschitz

from .base import adversary, split


class Pair(NamedTuple):
    """Two inputs that differ at the first position."""

    mass: Tensor
    other_mass: Tensor
    gap: Tensor
    other_gap: Tensor
    spread: Tensor
    separation: Tensor
    pooled: Tensor
    other_pooled: Tensor

    @property
    def distance(self) -> Tensor:
        return (self.pooled - self.other_pooled).norm(dim=-1)


def pair(numbers: Tensor) -> Pair:
    a, b, u, w = split(numbers, (), (), (2,), (2,))
    sides = []
    for mass, value in ((torch.sigmoid(a), u), (torch.sigmoid(b), w)):
        attention = torch.stack([mass, 1 - mass], -1)
        gap = centroid_gap(attention, torch.stack([value, torch.zeros_like(value)], -2))[..., 0]
        sides.append((mass, gap, mass.unsqueeze(-1) * value))
    (mass, gap, pooled), (other_mass, other_gap, other_pooled) = sides
    spread = torch.maximum(gap, other_gap)
    return Pair(mass, other_mass, gap, other_gap, spread, value_separation(u, w), pooled, other_pooled)


@adversary("16, tight", size=6)
def _(numbers: Tensor) -> Tensor:
    p = pair(numbers)
    return p.distance / difference_bound_tight(p.mass, p.other_mass, p.gap, p.other_gap)


@adversary("16", size=6)
def _(numbers: Tensor) -> Tensor:
    p = pair(numbers)
    return p.distance / difference_bound(p.mass, p.other_mass, p.spread)


@adversary("18", size=6)
def _(numbers: Tensor) -> Tensor:
    p = pair(numbers)
    return difference_lower_bound(p.mass, p.other_mass, p.separation, p.spread) / p.distance


@adversary("20", size=6)
def _(numbers: Tensor) -> Tensor:
    p = pair(numbers)
    weighed = p.mass * p.gap.square() - p.other_mass * p.other_gap.square()
    aligned = (p.mass - p.other_mass) * weighed >= 0
    return torch.where(aligned, aligned_lower_bound(p.mass, p.other_mass, p.separation) / p.distance, 0.0)


@adversary("21", size=6)
def _(numbers: Tensor) -> Tensor:
    p = pair(numbers)
    return mismatched_lower_bound(p.mass, p.other_mass, p.separation, p.spread) / p.distance


@adversary("28", size=6)
def _(numbers: Tensor) -> Tensor:
    p = pair(numbers)
    return injectivity_margin(torch.minimum(p.mass, p.other_mass), p.separation) / p.distance


def network(h: Tensor, W_in: Tensor, W_out: Tensor) -> Tensor:
    return (torch.relu(h.unsqueeze(-2) @ W_in) @ W_out).squeeze(-2)


@adversary("26", size=14)
def _(numbers: Tensor) -> Tensor:
    free, W_in, W_out = split(numbers, (6,), (2, 2), (2, 2))
    p, lipschitz = pair(free), two_layer_lipschitz(W_in, W_out)
    outputs = network(p.pooled, W_in, W_out), network(p.other_pooled, W_in, W_out)
    return output_separation(*outputs) / separation_bound(p.mass, p.other_mass, lipschitz, p.spread)


@adversary("27", size=14)
def _(numbers: Tensor) -> Tensor:
    free, W_in, W_out = split(numbers, (6,), (2, 2), (2, 2))
    p, lipschitz = pair(free), two_layer_lipschitz(W_in, W_out)
    outputs = network(p.pooled, W_in, W_out), network(p.other_pooled, W_in, W_out)
    gamma = threshold(output_separation(*outputs).clamp_min(1e-30), lipschitz, p.spread)
    return gamma / (gamma + pair_condition(p.mass, p.other_mass, gamma).margin)


@adversary("23", size=12)
def _(numbers: Tensor) -> Tensor:
    h, other, W_in, W_out = split(numbers, (2,), (2,), (2, 2), (2, 2))
    outputs = network(h, W_in, W_out), network(other, W_in, W_out)
    return sampled_lipschitz(h, other, *outputs) / two_layer_lipschitz(W_in, W_out)


@adversary("23, residual", size=16)
def _(numbers: Tensor) -> Tensor:
    h, other, W_in, W_out, W_U = split(numbers, (2,), (2,), (2, 2), (2, 2), (2, 2))
    outputs = [((x + network(x, W_in, W_out)).unsqueeze(-2) @ W_U).squeeze(-2) for x in (h, other)]
    return sampled_lipschitz(h, other, *outputs) / residual_lipschitz(W_in, W_out, W_U)


@adversary("3", size=4)
def _(numbers: Tensor) -> Tensor:
    log_attention = torch.log_softmax(numbers, -1)
    informative = torch.tensor([True, True, False, False]).expand_as(numbers)
    gamma = least_mass(log_attention.exp(), informative)
    return divergence(informative / 2, log_attention) / necessary_divergence(informative, gamma)
