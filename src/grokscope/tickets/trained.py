"""Tickets from a trained run: lottery tickets by magnitude, their controls, and transplanted weights.

Grokking tickets, §2: train f_θ₀ for t epochs, prune the share k of the smallest |θ_t|, put the rest back to θ₀, train again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..errors import ConfigError
from ..settings import require
from ..theory import controlled_dense, magnitude_mask
from .base import (
    EVERY_PART,
    FromRun,
    Masks,
    Origin,
    Part,
    Pruned,
    PrunedInit,
    PruningContext,
    Weights,
    keep_top,
    pruned,
    tickets,
)

if TYPE_CHECKING:
    from torch import Tensor


def origin_of(context: PruningContext) -> Origin:
    assert context.origin is not None, "a ticket from a run was drawn without one"
    return context.origin


@dataclass(frozen=True, kw_only=True)
class Rewound(FromRun):
    """Base of tickets that apply a mask to given weights."""

    weights: Literal["start", "fresh", "trained"] = "start"
    """The weights that the mask is applied to: θ₀ of that run, other initial weights, or θ_t itself."""

    HOST: ClassVar[tuple[str, ...]] = (*FromRun.HOST, "weights")

    def beneath(self, context: PruningContext) -> Weights:
        origin = origin_of(context)
        if self.weights == "fresh":
            return context.fresh()
        return origin.start if self.weights == "start" else origin.trained


@tickets.register("magnitude")
@dataclass(frozen=True, kw_only=True)
class Magnitude(Pruned, Rewound):
    """The lottery ticket m_t^k: the largest |θ_t| are kept, at θ₀. At or after grokking it is the paper's grokking ticket."""

    scope: Literal["layer", "global"] = "layer"
    """Whether to prune each weight matrix separately or all together; the paper does not specify it."""
    parts: tuple[Part, ...] = EVERY_PART
    """Which parts of the network are pruned."""

    HOST: ClassVar[tuple[str, ...]] = (*Pruned.HOST, *Rewound.HOST, "scope", "parts")

    def check(self) -> None:
        super().check()
        require(len(self.parts) > 0, "parts", f"name at least one of {', '.join(EVERY_PART)}")

    def mask(self, context: PruningContext) -> Masks:
        trained = origin_of(context).trained
        weights = {name: trained[name] for name in context.prunable(self.parts)}
        return keep_top(weights, self.rate, self.scope, magnitude_mask)

    def draw(self, context: PruningContext) -> PrunedInit:
        return pruned(self.beneath(context), self.mask(context))


@tickets.register("saved")
@dataclass(frozen=True, kw_only=True)
class Saved(Rewound):
    """The mask that another run was trained with, whatever its ticket."""

    def draw(self, context: PruningContext) -> PrunedInit:
        mask = origin_of(context).mask
        if not mask:
            raise ConfigError("ticket.run", f"run {self.run} was trained without a mask")
        return pruned(self.beneath(context), mask)


@tickets.register("dense")
@dataclass(frozen=True, kw_only=True)
class ControlledDense(Magnitude):
    """The control for small weights: no mask, θ₀ scaled down to the norm of the ticket (§4.1)."""

    norm: Literal["l1", "l2"] = "l2"
    """Which norm is matched."""

    HOST: ClassVar[tuple[str, ...]] = (*Magnitude.HOST, "norm")

    def draw(self, context: PruningContext) -> PrunedInit:
        weights, mask = self.beneath(context), self.mask(context)
        joined = torch.cat([w.flatten() for w in weights.values()])
        lives = torch.cat([_whole(mask.get(name), w).flatten() for name, w in weights.items()])
        scaled = controlled_dense(joined, lives, 1.0 if self.norm == "l1" else 2.0)
        parts = scaled.split([w.numel() for w in weights.values()])
        return PrunedInit({name: part.view(w.shape) for (name, w), part in zip(weights.items(), parts, strict=True)})


def _whole(mask: Tensor | None, weight: Tensor) -> Tensor:
    return torch.ones_like(weight, dtype=torch.bool) if mask is None else mask


@tickets.register("transplant")
@dataclass(frozen=True, kw_only=True)
class Transplant(FromRun):
    """Trained weights θ_t of some parts, the run's own initial weights elsewhere; nothing is pruned.

    With all parts the run continues from θ_t with a new optimizer.
    """

    parts: tuple[Part, ...] = EVERY_PART
    """Which parts are transplanted."""

    HOST: ClassVar[tuple[str, ...]] = (*FromRun.HOST, "parts")

    def check(self) -> None:
        super().check()
        require(len(self.parts) > 0, "parts", f"name at least one of {', '.join(EVERY_PART)}")

    def draw(self, context: PruningContext) -> PrunedInit:
        trained, parameters = origin_of(context).trained, context.parameters
        return PrunedInit(
            {name: trained[name] if parameters[name].part in self.parts else w for name, w in context.weights.items()}
        )
