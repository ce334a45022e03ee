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
from .base import Masks, Pruned, PrunedInit, PruningContext, Weights, keep_top, pruned, tickets

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


@tickets.register("random")
@dataclass(frozen=True, kw_only=True)
class Random(Pruned):
    """Prunes a random fraction of every weight matrix."""

    def draw(self, context: PruningContext) -> PrunedInit:
        scores = {
            name: torch.rand(context.weights[name].shape, generator=context.generator) for name in context.prunable()
        }
        return pruned(context.weights, keep_top(scores, self.rate, "layer"))


@tickets.register("snip")
@dataclass(frozen=True, kw_only=True)
class Snip(Pruned):
    """SNIP (Lee et al. 2019): keep the weights whose removal changes the training loss most."""

    def draw(self, context: PruningContext) -> PrunedInit:
        leaves, names = _leaves(context)
        gradients = _gradients(context.loss(leaves), leaves, names)
        scores = {name: snip_saliency(context.weights[name], gradients[name]) for name in names}
        return pruned(context.weights, keep_top(scores, self.rate, "global"))


@tickets.register("grasp")
@dataclass(frozen=True, kw_only=True)
class Grasp(Pruned):
    """GraSP (Wang et al. 2020): remove the weights that hinder the gradient flow."""

    def draw(self, context: PruningContext) -> PrunedInit:
        scores = {
            name: -grasp_saliency(context.weights[name], product)  # the largest are removed
            for name, product in hessian_gradient(context).items()
        }
        return pruned(context.weights, keep_top(scores, self.rate, "global"))


def hessian_gradient(context: PruningContext) -> Weights:
    """H ∂L/∂θ of the prunable weights at the initial ones: half the gradient of ‖∂L/∂θ‖²."""
    leaves, names = _leaves(context)
    gradients = _gradients(context.loss(leaves), leaves, names, create_graph=True)
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

    def draw(self, context: PruningContext) -> PrunedInit:
        names = context.prunable()
        size = {name: context.weights[name].abs().double() for name in context.weights}
        mask: Masks = {name: torch.ones_like(size[name], dtype=torch.bool) for name in names}
        for number in range(1, self.rounds + 1):
            scores = flow_through(size | {name: size[name] * mask[name] for name in names}, names, context.signal)
            # what is pruned already stays last, however little else carries
            scores = {name: score.masked_fill(~mask[name], -1.0) for name, score in scores.items()}
            mask = keep_top(scores, 1 - (1 - self.rate) ** (number / self.rounds), "global")
        return pruned(context.weights, mask)


def flow_through(size: Weights, names: list[str], signal: Callable[[Weights], Tensor]) -> Weights:
    """∂R/∂|θ| ⊙ |θ| of the signal R that gets through the absolute weights."""
    leaves = {name: w.detach().requires_grad_(name in names) for name, w in size.items()}
    gradients = _gradients(signal(leaves), leaves, names)
    return {name: synaptic_saliency(size[name], gradients[name]) for name in names}


def _leaves(context: PruningContext) -> tuple[Weights, list[str]]:
    names = context.prunable()
    return {name: w.detach().clone().requires_grad_(name in names) for name, w in context.weights.items()}, names


def _gradients(of: Tensor, leaves: Weights, names: list[str], create_graph: bool = False) -> Weights:
    found = torch.autograd.grad(
        of, [leaves[name] for name in names], create_graph=create_graph, allow_unused=True, materialize_grads=True
    )
    return dict(zip(names, found, strict=True))
