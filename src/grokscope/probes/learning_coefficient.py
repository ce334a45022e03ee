"""The local learning coefficient by stochastic gradient Langevin dynamics (Lau et al. 2023)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.func import grad_and_value, vmap

from ..randomness import stream

if TYPE_CHECKING:
    from torch import Generator, Tensor

Weights = dict[str, "Tensor"]


class Coefficient(NamedTuple):
    """λ̂ of each chain, and how the chains behaved."""

    value: Tensor
    """λ̂ [chain]"""
    drift: Tensor
    """Loss in the last quarter of the steps over that in the quarter before: 1 for a chain that has settled."""

    @property
    def mean(self) -> float:
        return float(self.value.mean())

    @property
    def settled(self) -> bool:
        """Whether all chains are finite, and the mean loss changes by less than a quarter in their second half."""
        return bool(self.value.isfinite().all() and (self.drift.mean() - 1).abs() < 0.25)


def local_learning_coefficient(
    loss: Callable[[Weights], Tensor],
    weights: Weights,
    examples: int,
    generator: Generator,
    *,
    chains: int = 4,
    steps: int = 200,
    step_size: float = 1e-4,
    localisation: float = 100.0,
) -> Coefficient:
    """λ̂ = nβ (E[L(w)] − L(w*)) with β = 1/log n, over chains w ← w − ε/2 (nβ ∇L(w) + γ(w − w*)) + √ε ξ that start at w*.

    loss           L, the mean loss over the examples, of the weights of one chain
    weights        w*
    examples       n
    step_size      ε
    localisation   γ

    All chains are one stacked computation. The expectation is taken over the second half of the steps. Where L is quadratic with
    d positive directions λ is d/2; for L = w^{2k} in one dimension it is 1/(2k).
    """
    inverse = examples / math.log(examples)  # nβ
    step = vmap(grad_and_value(loss))
    at = {name: weight.detach().expand(chains, *weight.shape).clone() for name, weight in weights.items()}
    start = loss({name: weight.detach() for name, weight in weights.items()}).detach()
    seen = []
    for _ in range(steps):
        gradient, value = step(at)
        seen.append(value.detach())
        for name, weight in at.items():
            pull = localisation * (weight - weights[name].detach())
            noise = torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
            at[name] = weight - 0.5 * step_size * (inverse * gradient[name] + pull) + math.sqrt(step_size) * noise
    losses = torch.stack(seen)  # step, chain
    quarter = max(steps // 4, 1)
    late = losses[-quarter:].mean(0) / losses[-2 * quarter : -quarter].mean(0)
    return Coefficient(inverse * (losses[-2 * quarter :].mean(0) - start), late)


def calibrate(
    loss: Callable[[Weights], Tensor],
    weights: Weights,
    examples: int,
    seed: int,
    *,
    step_sizes: Sequence[float] = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3),
    localisations: Sequence[float] = (30.0, 300.0),
    **how: int,
) -> list[tuple[float, float, Coefficient]]:
    """λ̂ for every step size ε and localisation γ, each with the same random numbers: where chains have settled and neighbouring ε
    agree, the estimate can be trusted.

    Returns ε, γ and the coefficient, in the order of the grid.
    """
    return [
        (
            epsilon,
            gamma,
            local_learning_coefficient(
                loss, weights, examples, stream(seed, "calibration"), step_size=epsilon, localisation=gamma, **how
            ),
        )
        for epsilon in step_sizes
        for gamma in localisations
    ]
