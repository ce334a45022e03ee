"""The starting point of a run: its initial weights, pruned by its ticket if it has one. Computed on the host from the seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from ..randomness import stream
from ..tickets import Origin, PrunedInit, PruningContext
from ..tickets.base import NoTicket
from .objective import Objective

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from .data import Batch


def initial_weights(config: RunConfig, purpose: str = "weights") -> dict[str, Tensor]:
    """The initial weights θ₀, drawn from the run's seed."""
    return config.model.init(config.task.shape, stream(config.seed_for("init"), purpose))


def starting_point(config: RunConfig, train: Batch, origin: Origin | None = None) -> PrunedInit:
    """The weights before the first step and the mask, if any.

    train    the training set, planned
    origin   the run that the ticket comes from
    """
    weights = initial_weights(config)
    if isinstance(config.ticket, NoTicket):
        return PrunedInit(weights)
    objective = Objective(config, torch.device("cpu"), fuse=False)
    # the signal is a product of many layers: tickets compute it in float64
    ones = train
    if "vectors" in train:
        ones = {"vectors": torch.ones_like(train["vectors"][:1], dtype=torch.float64), "labels": train["labels"][:1]}
    if "frozen" in train:
        ones = ones | {"frozen": train["frozen"].double()}
    context = PruningContext(
        parameters=config.model.parameters(config.task.shape),
        weights=weights,
        fresh=lambda: initial_weights(config, "fresh weights"),
        loss=lambda own: objective.example_losses(objective.forward(own, train), train).mean(),
        signal=lambda own: objective.forward(own, ones).logits.sum(),
        generator=stream(config.seed_for("init"), "ticket"),
        origin=origin,
    )
    return config.ticket.draw(context)
