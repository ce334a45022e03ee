"""The norm of a part of the network, changed in mid-run: is it the norm that a run on the plateau waits for?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from ..settings import require
from ..tickets.base import Part
from .base import Now, Parameters, Timed, Weights, in_parts, interventions, require_parts

if TYPE_CHECKING:
    from ..config import RunConfig


@interventions.register("rescale")
@dataclass(frozen=True, kw_only=True)
class Rescale(Timed):
    """The weights of some parts are multiplied: once at `start`, or after every step of the window to keep their norm."""

    parts: tuple[Part, ...] = ("mlp",)
    """Parts that are rescaled together."""
    strength: float = 0.5
    """Factor, while `norm` is 0."""
    norm: float = 0.0
    """Joint Frobenius norm that they get; 0 multiplies by `strength` instead."""
    hold: bool = False
    """Project onto the sphere of radius `norm` after every step of the window, instead of once."""

    LANES: ClassVar[tuple[str, ...]] = (*Timed.LANES, "strength", "norm")

    def check(self) -> None:
        super().check()
        require(self.strength > 0, "strength", f"{self.strength} is not above 0")
        require(self.norm >= 0, "norm", f"{self.norm} is below 0")
        require(not self.hold or self.norm > 0, "hold", "needs the norm to hold: set norm")

    def check_run(self, config: RunConfig) -> None:
        require_parts(config.model.parameters(config.task.shape), self.parts, config.model.kind)

    def structure(self) -> dict[str, Any]:
        return super().structure() | {"to norm": self.norm > 0}

    def weights(self, weights: Weights, now: Now, parameters: Parameters) -> Weights:
        names = in_parts(parameters, self.parts)
        here = self.active(now) if self.hold else self.begins(now)
        norm = torch.stack([weights[name].norm() for name in names]).norm()
        target = torch.as_tensor(self.norm, device=norm.device)
        factor = torch.where(target > 0, target / norm.clamp_min(1e-30), self.strength)
        return weights | {name: torch.where(here, weights[name] * factor, weights[name]) for name in names}
