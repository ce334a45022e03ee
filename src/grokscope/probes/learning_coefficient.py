"""The local learning coefficient by stochastic gradient Langevin dynamics (Lau et al. 2023).

Chains are lanes of one stacked computation, and so are the settings of a calibration: each lane has its own step size and
localisation. All chains start at the checkpoint and climb to where they settle, so that a value which is read too early is too
small; how far λ̂ still moves between the halves of what is read says whether they have settled.
"""

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
Loss = Callable[[Weights, "Tensor"], "Tensor"]
"""The mean loss of the weights of one chain over some rows of the examples."""

CHAINS, STEPS, BATCH = 4, 200, 64
STEP_SIZE, LOCALISATION = 1e-5, 3000.0
"""ε and γ that `grokscope forecast RUN… --calibrate` justifies; docs/forecast.md has its table."""
SETTLED = 0.15
"""Largest relative change of λ̂ between the last two quarters of the steps. A chain that has only begun to climb has 0.33 (λ̂ grows
with the steps) or 0.17 (with their square root)."""
AGREE = 0.15
"""Largest relative difference to the λ̂ of the next smaller step size with which a step size counts as small enough."""


class Coefficient(NamedTuple):
    """λ̂ of each chain, and whether the chains had settled."""

    value: Tensor
    """λ̂ [chain], over the second half of the steps."""
    drift: float
    """Change of λ̂ from the third to the fourth quarter of the steps, over their mean."""

    @property
    def mean(self) -> float:
        return float(self.value.mean())

    @property
    def error(self) -> float:
        """Standard error over chains."""
        return float(self.value.std() / math.sqrt(len(self.value))) if len(self.value) > 1 else math.nan

    @property
    def settled(self) -> bool:
        """Whether the value can be used: it moves no more, and chains agree. Where it is not above 0 they have found weights with
        less loss than the checkpoint, which is no minimum for them."""
        finite = bool(self.value.isfinite().all()) and self.mean > 0
        apart = len(self.value) > 1 and self.error > SETTLED * self.mean
        return finite and abs(self.drift) <= SETTLED and not apart


class Setting(NamedTuple):
    """A step size and a localisation of a calibration, with what they give."""

    step_size: float
    localisation: float
    found: Coefficient
    small_enough: bool
    """Whether λ̂ has settled, here and at the next smaller step size, and the two agree: what discrete steps change is small. False
    for the smallest."""


def local_learning_coefficient(
    loss: Loss,
    weights: Weights,
    examples: int,
    generator: Generator,
    *,
    chains: int = CHAINS,
    steps: int = STEPS,
    batch: int = BATCH,
    step_size: float = STEP_SIZE,
    localisation: float = LOCALISATION,
) -> Coefficient:
    """λ̂ = nβ (E[L(w)] − L(w*)) with β = 1/log n, over chains w ← w − ε/2 (nβ ∇L(w) + γ(w − w*)) + √ε ξ that start at w*.

    loss           L
    weights        w*
    examples       n
    batch          examples of each step's gradient, the same for all chains; all of them if there are no more
    step_size      ε
    localisation   γ: directions whose curvature is below γ/nβ do not count

    The expectation is taken over the second half of the steps. Where L is quadratic with d positive directions λ is d/2; for
    L = w^{2k} in one dimension it is 1/(2k).
    """
    (found,) = _sampled(loss, weights, examples, generator, [(step_size, localisation)], chains, steps, batch)
    return found


def calibrate(
    loss: Loss,
    weights: Weights,
    examples: int,
    seed: int,
    *,
    step_sizes: Sequence[float] = (3e-6, 1e-5, 3e-5),
    localisations: Sequence[float] = (1000.0, 3000.0, 10_000.0),
    chains: int = 2,
    steps: int = 3 * STEPS,
    batch: int = 2 * BATCH,
) -> list[Setting]:
    """λ̂ for every localisation γ and step size ε, in ascending order, each with the same random numbers; all settings are lanes of
    one computation. Chains are longer and batches larger than where a value is used, so that these two are checked as well."""
    grid = [(epsilon, gamma) for gamma in sorted(localisations) for epsilon in sorted(step_sizes)]
    found = _sampled(loss, weights, examples, stream(seed, "calibration"), grid, chains, steps, batch)
    settings: list[Setting] = []
    for (epsilon, gamma), own in zip(grid, found, strict=True):
        smaller = settings[-1].found if settings and settings[-1].localisation == gamma else None
        agree = smaller is not None and smaller.settled and own.settled
        agree = agree and smaller is not None and abs(own.mean - smaller.mean) <= AGREE * own.mean
        settings.append(Setting(epsilon, gamma, own, agree))
    return settings


def _sampled(
    loss: Loss,
    weights: Weights,
    examples: int,
    generator: Generator,
    grid: Sequence[tuple[float, float]],
    chains: int,
    steps: int,
    batch: int,
) -> list[Coefficient]:
    """The coefficient of each setting; a lane is a chain of a setting."""
    inverse = examples / math.log(examples)  # nβ
    centre = {name: weight.detach() for name, weight in weights.items()}
    lanes = len(grid) * chains
    epsilon, gamma = (torch.tensor(values).repeat_interleave(chains) for values in zip(*grid, strict=True))
    step = vmap(grad_and_value(loss), in_dims=(0, None))
    at = {name: weight.expand(lanes, *weight.shape).clone() for name, weight in centre.items()}
    seen = []
    for _ in range(steps):
        rows = torch.randint(examples, (batch,), generator=generator) if batch < examples else torch.arange(examples)
        gradient, value = step(at, rows)
        seen.append(value.detach())
        for name, weight in at.items():
            size, pull = (own.view(-1, *[1] * (weight.ndim - 1)).to(weight.dtype) for own in (epsilon, gamma))
            noise = torch.randn((chains, *weight.shape[1:]), generator=generator, dtype=weight.dtype)
            force = inverse * gradient[name] + pull * (weight - centre[name])
            noise = noise.repeat(len(grid), *[1] * (weight.ndim - 1))
            at[name] = weight - 0.5 * size * force + size.sqrt() * noise
    with torch.no_grad():
        start = loss(centre, torch.arange(examples))
    excess = inverse * (torch.stack(seen).double() - start.double())
    return [_read(own) for own in excess.view(steps, len(grid), chains).unbind(1)]


def _read(excess: Tensor) -> Coefficient:
    """excess   nβ (L(w) − L(w*)) [step chain]"""
    quarter = max(len(excess) // 4, 1)
    early, late = excess[-2 * quarter : -quarter].mean(), excess[-quarter:].mean()
    middle = float(early + late) / 2
    drift = float(late - early) / abs(middle) if middle else math.inf
    return Coefficient(excess[-2 * quarter :].mean(0), drift)
