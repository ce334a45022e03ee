"""The gradient of a part, amplified or muted: no information is added, only what is there weighs more or less.

Adam divides by the size of past gradients, so a constant factor on a gradient cancels after about 1/(1 − β₂) steps: with
`of = "update"` the factor applies to what the optimizer makes of the gradient, weight decay excluded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..settings import require
from ..tickets.base import Part
from .base import Now, Parameters, Timed, Weights, in_parts, interventions, require_parts

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig


@interventions.register("gradient")
@dataclass(frozen=True, kw_only=True)
class Gradient(Timed):
    """The gradient of some parts, or the update made of it, is multiplied by `strength`; 0 mutes it."""

    parts: tuple[Part, ...] = ("attention",)
    """Parts whose gradient is changed."""
    strength: float = 10.0
    """Factor. With `relative_to` it is the ratio of the two norms instead."""
    of: Literal["update", "gradient"] = "update"
    """What is multiplied: the step that the optimizer takes (weight decay excluded), or the gradient that it is given."""
    relative_to: Literal["", "embed", "attention", "mlp", "readout"] = ""
    """Rescale the gradient of `parts` to `strength` times the norm of this part's gradient, in every step; empty: a factor."""

    LANES: ClassVar[tuple[str, ...]] = (*Timed.LANES, "strength")

    def check(self) -> None:
        super().check()
        require(self.strength >= 0, "strength", f"{self.strength} is below 0")

    def check_run(self, config: RunConfig) -> None:
        parameters = config.model.parameters(config.task.shape)
        require_parts(parameters, self.parts, config.model.kind)
        if self.relative_to:
            known = any(p.part == self.relative_to for p in parameters.values())
            require(known, "relative_to", f"model {config.model.kind} has no {self.relative_to}")
            require(self.relative_to not in self.parts, "relative_to", f"{self.relative_to} is one of the parts")

    @property
    def hooks(self) -> frozenset[str]:
        return frozenset({self.of})

    def gradient(self, gradient: Weights, weights: Weights, now: Now, parameters: Parameters) -> Weights:
        return gradient if self.of != "gradient" else self._scaled(gradient, now, parameters)

    def update(self, before: Weights, after: Weights, now: Now, parameters: Parameters, decay: Tensor) -> Weights:
        if self.of != "update":
            return after
        steps = {
            name: after[name] - ((1 - decay) * before[name] if parameters[name].decays else before[name])
            for name in after
        }
        scaled = self._scaled(steps, now, parameters)
        # elsewhere the weights stay as they are, bit for bit
        changed = {name: after[name] + (scaled[name] - steps[name]) for name in in_parts(parameters, self.parts)}
        here = self.active(now)
        return after | {name: torch.where(here, new, after[name]) for name, new in changed.items()}

    def _scaled(self, own: Weights, now: Now, parameters: Parameters) -> Weights:
        factor = torch.as_tensor(self.strength, device=now.step.device)
        names = in_parts(parameters, self.parts)
        if self.relative_to:
            factor = factor * _norm(own, in_parts(parameters, (self.relative_to,))) / _norm(own, names)
        here = self.active(now)
        return own | {name: torch.where(here, own[name] * factor, own[name]) for name in names}


def _norm(own: Weights, names: list[str]) -> Tensor:
    return torch.stack([own[name].norm() for name in names]).norm().clamp_min(1e-30)
