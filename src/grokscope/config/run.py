"""The configuration of one run."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError, StoreError, nearest, shown, within
from ..interventions import Branch, Intervention, interventions
from ..interventions.base import NoIntervention
from ..models import Model, models
from ..models.transformer import Transformer
from ..optim import Filter, Optimizer, filters, losses, optimizers
from ..optim.adamw import AdamW
from ..optim.filters import NoFilter
from ..optim.noise import Noise
from ..priors import Constraints, Prior, priors
from ..priors.kl import KL
from ..settings import Settings, component, group, require, setting
from ..tasks import Task, tasks
from ..tasks.modular import Modular
from ..tickets import Ticket, tickets
from ..tickets.base import NoTicket
from .watch import Log, Stop
from .watched import is_watched

SCHEMA = 2
"""Version of the id scheme; part of every id."""

SEEDS = ("data_seed", "init_seed", "order_seed")


def _named_arguments(cls: type[RunConfig]) -> type[RunConfig]:
    """Refuse an argument that is no setting in one line, where a dataclass would raise a TypeError without a hint."""
    plain, names = cls.__init__, {f.name for f in dataclasses.fields(cls)}

    @functools.wraps(plain)
    def init(self: RunConfig, **given: Any) -> None:
        if unknown := next((name for name in given if name not in names), None):
            near = get_close_matches(unknown, names, n=1, cutoff=0.8)  # a slip of the pen before another place
            hint = "" if near else _place_of(unknown, given)
            raise ConfigError(unknown, f"no such setting. {hint or nearest(unknown, names)}")
        plain(self, **given)

    setattr(cls, "__init__", init)  # noqa: B010, since mypy allows no assignment to it
    return cls


def _place_of(unknown: str, given: Mapping[str, Any]) -> str:
    """A hint for the setting of a component that was given without it: that of the kinds that were chosen, or of the defaults."""
    for name, held in RunConfig.component_fields().items():
        chosen = given.get(name, {})
        kind = type(chosen) if isinstance(chosen, Settings) else held.choose(held.table(chosen, name), name)
        if unknown in {f.name for f in dataclasses.fields(kind)}:
            of_kind = f'"kind": "{kind.kind}", ' if name in given and kind.kind else ""
            return f'Did you mean {name}={{{of_kind}"{unknown}": {shown(given[unknown])}}}?'
    return ""


@_named_arguments
@dataclass(frozen=True, kw_only=True)
class RunConfig(Settings):
    """One run. The defaults are those of structural inference, Table G.2.

    A component is an object, the name of one, or a dict of its settings:

        RunConfig(task=Modular(p=31), epochs=1500)
        RunConfig(task="parity", optim={"kind": "adamw", "lr": 0.01}, log={"every": 10})
    """

    task: Task = component(tasks, Modular)
    """The data: what is to be learnt."""
    model: Model = component(models, Transformer)
    """The network."""
    loss: str = setting("cross_entropy", choices=losses)
    """What is minimised besides the prior."""
    optim: Optimizer = component(optimizers, AdamW)
    """The optimizer."""
    filter: Filter = component(filters, NoFilter)
    """What is done to gradients before the optimizer sees them."""
    prior: Prior = component(priors, KL)
    """A penalty that guides attention; none has an effect at strength `prior.beta` = 0."""
    constraint: Constraints = group(Constraints)
    ticket: Ticket = component(tickets, NoTicket)
    """Which weights are pruned, and from which weights training starts."""
    noise: Noise = group(Noise, since=2)
    branch: Branch = group(Branch, since=2)
    do: Intervention = component(interventions, NoIntervention, since=2)
    """What is changed in a run that branches from another."""
    epochs: int = 10_000
    """Last epoch."""
    batch_size: int = 0
    """Examples per step; 0 is the full batch."""
    precision: Literal["auto", "float32", "tf32", "bf16"] = "auto"
    """Precision of matrix products; weights, sums and losses are always float32. auto: TF32 on a GPU that has it, else float32; the
    run is stored with what was chosen."""
    log: Log = group(Log, identity=False)
    stop: Stop = group(Stop, identity=False)
    seed: int = 0
    """Seed of the data, the initial weights and the order of batches, unless these have their own seeds."""
    data_seed: int | None = setting(None, since=2)
    """Seed of the split, the distractors and label noise that is drawn once; none uses `seed`."""
    init_seed: int | None = setting(None, since=2)
    """Seed of the initial weights; none uses `seed`."""
    order_seed: int | None = setting(None, since=2)
    """Seed of the order of batches and of all randomness inside a step; none uses `seed`."""
    exact: bool = setting(False, since=2)
    """Whether `epochs`, `log` and `stop` are part of the run's id too: it is then never continued to a later epoch, nor shared with
    runs that are evaluated at other epochs. For experiments, whose results must not depend on other runs in a folder."""

    def __post_init__(self) -> None:
        """Values are converted as those of a file: a run that is written in Python is checked like any other."""
        super().__post_init__()
        for name, value in self.conversions().items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_toml(cls, file: str | Path, settings: Mapping[str, Any] | None = None) -> RunConfig:
        """The settings of a TOML file; those it does not name keep their defaults.

            RunConfig.from_toml("docs/examples/small.toml", {"prior.beta": 0.3, "seed": 1})

        settings   dotted names and values that replace those of the file
        """
        from .files import read_config  # it builds on this module

        return read_config(Path(file), dict(settings or {})).check()

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
        self._check_rates()
        with within("do"):
            branched = self.branch.run != "" or not self.do.needs_branch
            require(
                branched, "kind", f"{self.do.kind} needs a run to branch from: set branch.run, or use grokscope branch"
            )
            self.do.check_run(self)
        losses.get(self.loss)
        with within("noise"):
            classes = not self.task.shape.regression
            require(classes or not self.noise.labels, "labels", f"task {self.task.kind} has no classes to draw from")
        if self.task.shape.regression:
            require(self.loss == "mse", "loss", f'task {self.task.kind} has real-valued answers: set loss = "mse"')
        require(self.epochs >= 1, "epochs", f"{self.epochs} is below 1")
        for name in ("seed", *SEEDS):
            seed = getattr(self, name)
            require(seed is None or 0 <= seed < 2**31, name, f"{seed} is outside 0 … 2³¹−1")
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
            known = self.task.knows_informative or not self.prior.needs_informative
            require(known, "beta", f"task {self.task.kind} has no informative-token labels")
        if self.model.has_attention:
            self.prior.check_task(self.task)

    def _check_constraint(self) -> None:
        self.constraint.check_model(self.model.parameters(self.task.shape))
        if self.constraint.attention != "learned":
            possible = self.model.has_attention and self.task.knows_informative
            require(possible, "attention", "this combination has no attention that could be frozen at known weights")
        if self.constraint.attention == "oracle-by-head":
            heads, operands = getattr(self.model, "heads", 1), getattr(self.task, "k", None)
            what = f"oracle-by-head needs as many heads as informative tokens; model.heads is {heads}"
            require(
                heads == operands,
                "attention",
                f"{what}, and task {self.task.kind} has {operands or 'no fixed number'} of them",
            )

    def _check_ticket(self) -> None:
        scored = self.ticket.rates(self.model.parameters(self.task.shape)) is not None
        require(
            not scored or (self.optim.elementwise and self.filter.elementwise),
            "kind",
            f"{self.ticket.kind} needs an optimizer that updates every weight independently, and {self.optim.kind} "
            f"with filter {self.filter.kind} does not",
        )

    def _check_rates(self) -> None:
        parameters = self.model.parameters(self.task.shape)
        own = next((name for name, p in parameters.items() if p.lr is not None or not p.decays), None)
        require(
            own is None or self.optim.elementwise,
            "optim.kind",
            f"{self.optim.kind} updates whole matrices, and parameter {own} of the model has a learning rate or weight decay of "
            "its own; use adamw, or another optimizer that updates every weight independently",
        )

    def seed_for(self, purpose: Literal["data", "init", "order"]) -> int:
        """The seed from which data (split, distractors, label noise drawn once), initial weights, or the order of batches and
        the randomness inside steps follow."""
        own: int | None = getattr(self, f"{purpose}_seed")
        return self.seed if own is None else own

    def identity(self) -> dict[str, Any]:
        """The settings that change the run's numbers. The last epoch is excluded if nothing depends on it, and so is a seed that
        is given but equal to `seed`. For an exact run all settings count."""
        plain = super().identity()
        if self.exact:
            plain |= {"log": self.log.identity(), "stop": self.stop.identity()}
        elif not self.depends_on_epochs:
            del plain["epochs"]
        if plain["precision"] == "auto":
            plain["precision"] = "float32"  # as on a CPU; on a GPU it is chosen before the run has an id
        return {name: value for name, value in plain.items() if name not in SEEDS or value != self.seed}

    def until(self, epochs: int) -> RunConfig:
        """The same run with another last epoch."""
        other = replace(self, epochs=epochs)
        if not (self.exact or self.depends_on_epochs):
            vars(other)["id"] = self.id  # a search asks for it at every rung
        return other

    @functools.cached_property  # asked for many times when 100,000 runs are planned
    def id(self) -> str:
        """Twelve hex digits of a hash of `identity`."""
        text = json.dumps({"schema": SCHEMA, **self.identity()}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @classmethod
    def stored(cls, plain: Mapping[str, Any], name: str) -> tuple[RunConfig, list[str]]:
        """The config of a stored run, and the dotted names of the settings that this version does not know and ignores.

        name   the run, for the StoreError where it cannot be read: its components are not registered, or values are invalid
        """
        if is_watched(plain):
            raise StoreError(f"run {name}: its network was trained by a program of its own, and cannot be rebuilt")
        try:
            known, unknown = cls.without_unknown(plain)
            return cls.from_dict(known), unknown
        except ConfigError as error:
            hint = "; if it is your own, load its file with --load" if "is called" in error.problem else ""
            raise StoreError(f"run {name}: {error}{hint}") from None

    @classmethod
    def identity_of(cls, plain: Mapping[str, Any]) -> dict[str, Any]:
        """The identity of a stored config."""
        config, _ = cls.stored(plain, "config.json")
        return config.identity()

    @property
    def steps_per_epoch(self) -> int:
        return max(1, self.task.shape.train_size // self.batch_size) if self.batch_size else 1


COMPONENTS = {name: held.registry for name, held in RunConfig.component_fields().items() if held.registry is not None}
"""The registries of what a run is made of, by field."""


def require_config(value: Any) -> RunConfig:
    """The value itself; ConfigError if it is something else, such as the name of a file or a dict of settings."""
    if not isinstance(value, RunConfig):
        what = f"the class {value.__name__}" if isinstance(value, type) else shown(value)
        raise ConfigError(
            "config", f'{what} is not a RunConfig; RunConfig(task="parity") and RunConfig.from_toml(FILE) make one'
        )
    return value
