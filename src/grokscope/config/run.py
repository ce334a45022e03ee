"""The configuration of one run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from ..errors import within
from ..models import Model, models
from ..models.transformer import Transformer
from ..optim import Filter, Optimizer, filters, losses, optimizers
from ..optim.adamw import AdamW
from ..optim.filters import NoFilter
from ..priors import Constraints, Prior, priors
from ..priors.kl import KL
from ..settings import Settings, component, group, require
from ..tasks import Task, tasks
from ..tasks.modular import Modular
from ..tickets import Ticket, tickets
from ..tickets.base import NoTicket
from .watch import Log, Stop

SCHEMA = 1
"""Raised when the meaning of a setting changes, so that old runs are never taken for new ones."""


@dataclass(frozen=True, kw_only=True)
class RunConfig(Settings):
    """One run. The defaults are those of structural inference, Table G.2."""

    task: Task = component(tasks, Modular)
    model: Model = component(models, Transformer)
    loss: str = "cross_entropy"
    """Name of a loss."""
    optim: Optimizer = component(optimizers, AdamW)
    filter: Filter = component(filters, NoFilter)
    prior: Prior = component(priors, KL)
    constraint: Constraints = group(Constraints)
    ticket: Ticket = component(tickets, NoTicket)
    epochs: int = 10_000
    """Last epoch."""
    batch_size: int = 0
    """Examples a step; 0 is the full batch."""
    precision: Literal["float32", "tf32", "bf16"] = "float32"
    """Of matrix products; weights, sums and losses are float32 always."""
    log: Log = group(Log)
    stop: Stop = group(Stop)
    seed: int = 0
    """Split, distractors, initial weights and batch order follow from it."""

    def check(self) -> RunConfig:
        """Raise ConfigError for an invalid run; return the config itself."""
        self.check_components()
        with within("model"):
            self.model.check_task(self.task.shape)
        with within("prior"):
            self._check_prior()
        with within("constraint"):
            self._check_constraint()
        with within("ticket"):
            self._check_ticket()
        losses.get(self.loss)
        if self.task.shape.regression:
            require(self.loss == "mse", "loss", f'task {self.task.kind} asks for a real number: set loss = "mse"')
        require(self.epochs >= 1, "epochs", f"{self.epochs} is below 1")
        require(0 <= self.seed < 2**31, "seed", f"{self.seed} is outside 0 … 2³¹−1")
        shape = self.task.shape
        require(
            0 <= self.batch_size <= shape.train_size,
            "batch_size",
            f"{self.batch_size} is outside 0 … {shape.train_size}, the number of training examples",
        )
        if shape.every_position:
            task, scope = f"task {self.task.kind}", getattr(self.model, "scope", None)
            require(scope is not None, "model", f"{task} needs a model that answers at every position")
            require(scope == "causal", "model.scope", f'{task} needs scope = "causal"')
            require(self.constraint.attention == "learned", "constraint.attention", f"{task} cannot freeze attention")
        return self

    def _check_prior(self) -> None:
        if self.prior.beta > 0:
            require(self.model.has_attention, "beta", f"model {self.model.kind} has no attention to guide")
            require(self.task.knows_informative, "beta", f"task {self.task.kind} has no informative-token labels")
        if self.model.has_attention:
            self.prior.check_task(self.task)

    def _check_constraint(self) -> None:
        self.constraint.check_model(self.model.parameters(self.task.shape))
        if self.constraint.attention != "learned":
            possible = self.model.has_attention and self.task.knows_informative
            require(possible, "attention", "there is no attention here that could be frozen at known weights")

    def _check_ticket(self) -> None:
        scored = self.ticket.rates(self.model.parameters(self.task.shape)) is not None
        require(
            not scored or (self.optim.elementwise and self.filter.elementwise),
            "kind",
            f"{self.ticket.kind} needs an optimizer that treats every weight by itself, and {self.optim.kind} "
            f"with filter {self.filter.kind} does not",
        )

    @property
    def id(self) -> str:
        """Twelve hex digits of a hash of everything above."""
        text = json.dumps({"schema": SCHEMA, **self.to_dict()}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def steps_per_epoch(self) -> int:
        return max(1, self.task.shape.train_size // self.batch_size) if self.batch_size else 1


COMPONENTS = {name: held.registry for name, held in RunConfig.component_fields().items() if held.registry is not None}
"""The registries of what a run is made of, by field."""
