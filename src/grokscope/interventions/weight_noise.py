"""Gaussian noise that is added to the weights themselves; `noise.weights` perturbs them for the gradient alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ..settings import require
from ..tickets.base import EVERY_PART, Part
from .base import Now, Parameters, Timed, Weights, in_parts, interventions, require_parts

if TYPE_CHECKING:
    from ..config import RunConfig


@interventions.register("weight-noise")
@dataclass(frozen=True, kw_only=True)
class WeightNoise(Timed):
    """W ← W + strength · ξ with ξ ~ N(0, 1): after every step of the window, or once at its start."""

    strength: float = 1e-3
    """Standard deviation of the noise; with `relative`, in units of the root mean square of each weight matrix."""
    relative: bool = False
    """Whether the noise is proportional to the weights' size."""
    once: bool = False
    """Add it once, at `start`, instead of after every step."""
    parts: tuple[Part, ...] = EVERY_PART
    """Parts that it is added to."""

    LANES: ClassVar[tuple[str, ...]] = (*Timed.LANES, "strength")

    def check(self) -> None:
        super().check()
        require(self.strength >= 0, "strength", f"{self.strength} is below 0")

    def check_run(self, config: RunConfig) -> None:
        if self.parts != EVERY_PART:
            require_parts(config.model.parameters(config.task.shape), self.parts, config.model.kind)

    def weights(self, weights: Weights, now: Now, parameters: Parameters) -> Weights:
        here = self.begins(now) if self.once else self.active(now)
        changed = {}
        for name in in_parts(parameters, self.parts):
            weight = weights[name]
            size = weight.square().mean().sqrt() if self.relative else torch.ones((), device=weight.device)
            drawn = now.key.fold(name).normal("added noise", tuple(weight.shape)).to(weight.dtype)
            changed[name] = torch.where(here, weight + self.strength * size * drawn, weight)
        return weights | changed
