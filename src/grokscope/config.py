"""A run, written down: RunConfig is made of each room's frozen settings. What is not in here cannot change a run's numbers."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from .errors import ConfigError, nearest
from .models import Model, models
from .models.transformer import Transformer
from .optim import Filter, Optimizer, filters, losses, optimizers
from .optim.adamw import AdamW
from .optim.filters import NoFilter
from .priors import Constraints, Prior, priors
from .priors.kl import KL
from .registry import Registry
from .settings import Settings, require
from .tasks import Task, tasks
from .tasks.modular import Modular
from .tickets import Ticket, tickets
from .tickets.base import NoTicket

SCHEMA = 1
"""Raised when the meaning of a setting changes, so that old runs are never taken for new ones."""

COMPONENTS: dict[str, Registry[Any]] = {
    "task": tasks,
    "model": models,
    "optim": optimizers,
    "filter": filters,
    "prior": priors,
    "ticket": tickets,
}


@dataclass(frozen=True, kw_only=True)
class Log(Settings):
    """When a run is measured."""

    every: int = 25
    """Epochs between evaluations."""
    dense: bool = False
    """Also evaluate at log-spaced epochs early on: 1, 2, 3, 4, 6, 8, 11 …"""
    keep: int = 0
    """Epochs between checkpoints that are kept for later; 0 keeps the last one only."""

    def check(self) -> None:
        require(self.every >= 1, "every", f"{self.every} is below 1")
        require(self.keep >= 0, "keep", f"{self.keep} is below 0")

    def next_after(self, epoch: int) -> int:
        """The first epoch after `epoch` at which to evaluate."""
        regular = (epoch // self.every + 1) * self.every
        if not self.dense:
            return regular
        step = 0
        while (dense := round(2 ** (step / 2))) <= epoch:
            step += 1
        return min(regular, dense)


@dataclass(frozen=True, kw_only=True)
class Stop(Settings):
    """When a run has shown what it can."""

    accuracy: float = 0.99
    """Test accuracy that counts as generalised; 0 trains to the last epoch whatever happens."""
    window: int = 100
    """Epochs over which it must hold before the run ends."""

    def check(self) -> None:
        require(0 <= self.accuracy <= 1, "accuracy", f"{self.accuracy} is outside [0, 1]")
        require(self.window >= 0, "window", f"{self.window} is below 0")


@dataclass(frozen=True, kw_only=True)
class RunConfig(Settings):
    """One run. The defaults are those of structural inference, Table G.2."""

    task: Task = field(default_factory=Modular)
    model: Model = field(default_factory=Transformer)
    loss: str = "cross_entropy"
    """Name of a loss."""
    optim: Optimizer = field(default_factory=AdamW)
    filter: Filter = field(default_factory=NoFilter)
    prior: Prior = field(default_factory=KL)
    constraint: Constraints = field(default_factory=Constraints)
    ticket: Ticket = field(default_factory=NoTicket)
    epochs: int = 10_000
    """Last epoch."""
    batch_size: int = 0
    """Examples a step; 0 is the full batch."""
    precision: Literal["float32", "tf32", "bf16"] = "float32"
    """Of matrix products; weights, sums and losses are float32 always."""
    log: Log = field(default_factory=Log)
    stop: Stop = field(default_factory=Stop)
    seed: int = 0
    """Split, distractors, initial weights and batch order follow from it."""

    PARTS: ClassVar[tuple[str, ...]] = (
        "task",
        "model",
        "optim",
        "filter",
        "prior",
        "constraint",
        "ticket",
        "log",
        "stop",
    )

    def check(self) -> RunConfig:
        """Raise ConfigError for a run that cannot be; return the config itself."""
        for part in self.PARTS:
            try:
                getattr(self, part).check()
                if part == "model":
                    self.model.check_task(self.task.shape)
                if part == "prior":
                    self._check_prior()
                if part == "constraint":
                    self._check_constraint()
                if part == "ticket":
                    self._check_ticket()
            except ConfigError as error:
                raise error.within(part) from None
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
            require(
                self.task.knows_informative, "beta", f"nobody knows the informative tokens of task {self.task.kind}"
            )
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

    def to_dict(self) -> dict[str, Any]:
        plain = super().to_dict()
        return plain | {part: plain[part].to_dict() for part in self.PARTS}

    @classmethod
    def from_dict(cls, plain: dict[str, Any], *, room: str = "") -> RunConfig:
        """A config from nested plain values; what is not given takes its default."""
        names = [f.name for f in dataclasses.fields(cls)]
        parts: dict[str, Any] = {}
        for name, given in plain.items():
            if name not in names:
                raise ConfigError(name, f"no such setting. {nearest(name, names)}")
            if name not in cls.PARTS:
                continue
            given = {"kind": given} if isinstance(given, str) else given
            if not isinstance(given, dict):
                raise ConfigError(name, f"{given!r} is not a table of settings")
            default = {f.name: f.default_factory for f in dataclasses.fields(cls)}[name]
            kind = COMPONENTS[name].get(given["kind"]) if "kind" in given and name in COMPONENTS else default
            parts[name] = kind.from_dict(given, room=name)  # type: ignore[union-attr]
        scalars = Settings.from_dict.__func__(cls, {k: v for k, v in plain.items() if k not in cls.PARTS})  # type: ignore[attr-defined]
        return dataclasses.replace(scalars, **parts)


def nested(dotted: dict[str, Any]) -> dict[str, Any]:
    """{"task.p": 97} → {"task": {"p": 97}}; a plain room name, as in {"task": "parity"}, chooses its kind."""
    tree: dict[str, Any] = {}
    for name, value in dotted.items():
        *path, leaf = name.split(".")
        branch = tree
        for word in path:
            if isinstance(branch.get(word), str):
                branch[word] = {"kind": branch[word]}
            branch = branch.setdefault(word, {})
            if not isinstance(branch, dict):
                raise ConfigError(name, f"{word} is not a table of settings")
        if isinstance(branch.get(leaf), dict):
            branch, leaf = branch[leaf], "kind"
        branch[leaf] = value
    return tree


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`base` with the settings of `over`; choosing another kind for a room drops what was said of the old kind."""
    merged = dict(base)
    for name, value in over.items():
        if name in COMPONENTS and isinstance(value, str):
            value = {"kind": value}
        old = merged.get(name)
        if (
            not isinstance(value, dict)
            or not isinstance(old, dict)
            or ("kind" in value and value["kind"] != old.get("kind"))
        ):
            merged[name] = value
        else:
            merged[name] = merge(old, value)
    return merged
