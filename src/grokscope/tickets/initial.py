"""Pruning before training: at random, SNIP, GraSP and SynFlow (grokking tickets, §4.2, App. G).

SNIP, GraSP and SynFlow compare the scores of all weights with one another, as published; random pruning takes the same share of
every weight matrix. All work on the run's own initial weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ..settings import require
from ..theory import grasp_saliency, snip_saliency, synaptic_saliency
from .base import Drawn, Ground, Masks, Pruned, Weights, keep_top, pruned, tickets

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


@tickets.register("random")
@dataclass(frozen=True, kw_only=True)
class Random(Pruned):
    """A random share of every weight matrix is pruned."""

    def draw(self, ground: Ground) -> Drawn:
        scores = {
            name: torch.rand(ground.weights[name].shape, generator=ground.generator) for name in ground.prunable()
        }
        return pruned(ground.weights, keep_top(scores, self.rate, "layer"))


@tickets.register("snip")
@dataclass(frozen=True, kw_only=True)
class Snip(Pruned):
    """SNIP (Lee et al. 2019): keep the weights whose removal changes the training loss most."""

    def draw(self, ground: Ground) -> Drawn:
        leaves, names = _leaves(ground)
        gradients = _gradients(ground.loss(leaves), leaves, names)
        scores = {name: snip_saliency(ground.weights[name], gradients[name]) for name in names}
        return pruned(ground.weights, keep_top(scores, self.rate, "global"))


@tickets.register("grasp")
@dataclass(frozen=True, kw_only=True)
class Grasp(Pruned):
    """GraSP (Wang et al. 2020): remove the weights that hinder the gradient flow."""

    def draw(self, ground: Ground) -> Drawn:
        scores = {
            name: -grasp_saliency(ground.weights[name], product)  # the largest are removed
            for name, product in hessian_gradient(ground).items()
        }
        return pruned(ground.weights, keep_top(scores, self.rate, "global"))


def hessian_gradient(ground: Ground) -> Weights:
    """H ∂L/∂θ of the prunable weights at the initial ones: half the gradient of ‖∂L/∂θ‖²."""
    leaves, names = _leaves(ground)
    gradients = _gradients(ground.loss(leaves), leaves, names, create_graph=True)
    flow = torch.stack([g.square().sum() for g in gradients.values()]).sum()
    return {name: product / 2 for name, product in _gradients(flow, leaves, names).items()}


@tickets.register("synflow")
@dataclass(frozen=True, kw_only=True)
class SynFlow(Pruned):
    """SynFlow (Tanaka et al. 2020): prune in rounds what carries least of the signal through |θ|, without labels."""

    rounds: int = 100
    """Rounds; the kept share falls geometrically to 1 − rate. One round alone can cut a layer off."""

    HOST: ClassVar[tuple[str, ...]] = (*Pruned.HOST, "rounds")

    def check(self) -> None:
        super().check()
        require(self.rounds >= 1, "rounds", f"{self.rounds} is below 1")

    def draw(self, ground: Ground) -> Drawn:
        names = ground.prunable()
        size = {name: ground.weights[name].abs().double() for name in ground.weights}
        mask: Masks = {name: torch.ones_like(size[name], dtype=torch.bool) for name in names}
        for number in range(1, self.rounds + 1):
            scores = flow_through(size | {name: size[name] * mask[name] for name in names}, names, ground.signal)
            # what is pruned already stays last, however little else carries
            scores = {name: score.masked_fill(~mask[name], -1.0) for name, score in scores.items()}
            mask = keep_top(scores, 1 - (1 - self.rate) ** (number / self.rounds), "global")
        return pruned(ground.weights, mask)


def flow_through(size: Weights, names: list[str], signal: Callable[[Weights], Tensor]) -> Weights:
    """∂R/∂|θ| ⊙ |θ| of the signal R that gets through the absolute weights."""
    leaves = {name: w.detach().requires_grad_(name in names) for name, w in size.items()}
    gradients = _gradients(signal(leaves), leaves, names)
    return {name: synaptic_saliency(size[name], gradients[name]) for name in names}


def _leaves(ground: Ground) -> tuple[Weights, list[str]]:
    names = ground.prunable()
    return {name: w.detach().clone().requires_grad_(name in names) for name, w in ground.weights.items()}, names


def _gradients(of: Tensor, leaves: Weights, names: list[str], create_graph: bool = False) -> Weights:
    found = torch.autograd.grad(
        of, [leaves[name] for name in names], create_graph=create_graph, allow_unused=True, materialize_grads=True
    )
    return dict(zip(names, found, strict=True))
