"""Base class of tickets: from a run's initial weights and a context, compute the weights to start from and a mask.

A pruned weight is zero at the start, gets no gradient and stays zero. Weights are pruned; biases never are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import torch

from ..registry import Registry
from ..settings import Settings, require
from ..theory import top_share

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Parameter

tickets: Registry[type[Ticket]] = Registry("ticket", "grokscope.tickets")

Weights = dict[str, "Tensor"]
Masks = dict[str, "Tensor"]
"""True where a weight is kept; a parameter without a mask is kept entirely."""
Part = Literal["embed", "attention", "mlp", "readout"]
EVERY_PART: tuple[Part, ...] = ("embed", "attention", "mlp", "readout")


class Origin(NamedTuple):
    """The trained run that a ticket comes from."""

    start: Weights
    """θ₀, its weights before the first step."""
    trained: Weights
    """θ_t, its weights at the epoch of the ticket."""
    mask: Masks
    """The mask it was trained with; empty for a dense run."""


class PruningContext(NamedTuple):
    """What a ticket is drawn from."""

    parameters: dict[str, Parameter]
    weights: Weights
    """The run's own initial weights."""
    fresh: Callable[[], Weights]
    """Other initial weights of the same distribution."""
    loss: Callable[[Weights], Tensor]
    """The task loss on the training set; it can be differentiated twice."""
    signal: Callable[[Weights], Tensor]
    """Sum of the outputs for inputs that are 1 everywhere (vectors) or the training sequences (tokens)."""
    generator: torch.Generator
    origin: Origin | None = None

    def prunable(self, parts: tuple[Part, ...] = EVERY_PART) -> list[str]:
        return [name for name, p in self.parameters.items() if p.role != "bias" and p.part in parts]


class PrunedInit(NamedTuple):
    """The starting point of a run."""

    weights: Weights
    mask: Mapping[str, Tensor] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Ticket(Settings):
    """Base of all tickets."""

    def check_model(self, parameters: dict[str, Parameter]) -> None:
        """Raise ConfigError if this ticket does not apply to a model."""

    def structure(self) -> dict[str, Any]:
        """Weights and masks are data of a run: runs with different tickets may train in one program."""
        return {}

    def draw(self, context: PruningContext) -> PrunedInit:
        raise NotImplementedError

    # ── for tickets that are found while training ────────────────────────────────────────────────────────────

    def with_scores(self, parameters: dict[str, Parameter]) -> dict[str, Parameter]:
        """The model's parameters and the additional ones that are trained with them."""
        return parameters

    def effective(self, weights: Weights) -> Weights:
        """The weights that the model computes with."""
        return weights

    def rates(self, parameters: dict[str, Parameter]) -> dict[str, ParameterRate] | None:
        """How each parameter is trained, if the ticket changes that; None if it does not."""
        return None


class ParameterRate(NamedTuple):
    """Learning rate and decay of one parameter."""

    lr: float | None
    """Learning rate; None is the optimizer's own, 0 freezes it."""
    weight_decay: float | None
    """Weight decay; None is the optimizer's own."""


def rates_of(ticket: Ticket, parameters: dict[str, Parameter]) -> dict[str, ParameterRate] | None:
    """How each parameter is trained: as the ticket says, else as the model says; None if all are trained alike."""
    chosen = ticket.rates(parameters) or {}
    alike = ParameterRate(None, None)
    merged: dict[str, ParameterRate] = {}
    for name, parameter in parameters.items():
        lr, decay = chosen.get(name, alike)
        own_decay = None if parameter.decays else 0.0
        merged[name] = ParameterRate(parameter.lr if lr is None else lr, own_decay if decay is None else decay)
    return merged if any(rate != alike for rate in merged.values()) else None


@tickets.register("none")
@dataclass(frozen=True, kw_only=True)
class NoTicket(Ticket):
    """No pruning: all weights are kept, starting from the run's own initial weights."""

    def draw(self, context: PruningContext) -> PrunedInit:
        return PrunedInit(context.weights)


@dataclass(frozen=True, kw_only=True)
class Pruned(Ticket):
    """Base of tickets that prune a fraction of the weights."""

    rate: float = 0.6
    """Fraction of the weights that is pruned."""

    HOST: ClassVar[tuple[str, ...]] = ("rate",)

    def check(self) -> None:
        super().check()
        require(0 <= self.rate < 1, "rate", f"{self.rate} is outside [0, 1)")


@dataclass(frozen=True, kw_only=True)
class FromRun(Ticket):
    """Base of tickets that come from a trained run."""

    run: str = ""
    """Id of the run; it must have the same weights by name and shape."""
    epoch: int | Literal["last", "t_mem", "t_grok"] = "last"
    """Epoch of its checkpoint (keep some with log.keep); t_mem and t_grok take the first one kept at or after that time."""

    HOST: ClassVar[tuple[str, ...]] = ("run", "epoch")

    def check(self) -> None:
        super().check()
        require(self.run != "", "run", f"ticket {self.kind} needs the id of a trained run")
        require(not isinstance(self.epoch, int) or self.epoch >= 0, "epoch", f"{self.epoch} is below 0")


def keep_top(
    scores: dict[str, Tensor],
    rate: float,
    scope: Literal["layer", "global"],
    choose: Callable[[Tensor, float], Tensor] = top_share,
) -> Masks:
    """Masks that keep the highest scores (or what `choose` keeps): of each weight matrix, or of all together."""
    if scope == "layer":
        return {name: choose(score.flatten(), rate).view(score.shape) for name, score in scores.items()}
    together = choose(torch.cat([score.flatten() for score in scores.values()]), rate)
    sizes = [score.numel() for score in scores.values()]
    return {
        name: part.view(score.shape) for (name, score), part in zip(scores.items(), together.split(sizes), strict=True)
    }


def pruned(weights: Weights, mask: Masks) -> PrunedInit:
    """The weights with the pruned ones at zero."""
    return PrunedInit({name: w * mask[name] if name in mask else w for name, w in weights.items()}, mask)
