"""From a configuration to the plan of a search; everything that can be wrong is refused here, before anything is trained."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import ConfigError, within
from ..fleet.splits import split_of
from ..priors.kl import KL
from ..supports.base import family
from .confirm import check_confirmation
from .proposals.base import Pool
from .settings import LARGEST, SearchSettings

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..tasks import Task

TIMES = 10
"""The default budget, as a multiple of the epochs of one run."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A search that can begin."""

    config: RunConfig
    """Of every candidate, without its prior."""
    settings: SearchSettings
    units: list[int]
    """What supports are made of."""
    sizes: list[int]
    first: int
    """Epoch of the first rung."""
    budget: int
    """Run-steps."""
    chance: float

    @property
    def id(self) -> str:
        """A hash of everything that the result depends on."""
        plain = {"config": self.config.identity(), "epochs": self.config.epochs, "search": self.settings.to_dict()}
        stop = self.config.stop.to_dict()
        text = json.dumps([plain, stop, self.budget, self.config.log.to_dict()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def steps_of(self, epochs: int) -> int:
        """Run-steps of one candidate up to an epoch."""
        return epochs * self.config.steps_per_epoch


def prepare(config: RunConfig, settings: SearchSettings) -> Plan:
    """The plan of a search, checked."""
    with within("search"):
        settings.check_components()
        settings.check()
        own = family(settings.family)
    config = _with_splits(config, settings)
    _check_config(config)
    check_confirmation(config, settings.level)
    shape = config.task.shape
    units = own.units(split_of(config.task, config.seed_for("data")).train.inputs)
    if not units:
        raise ConfigError("search.family", f"{settings.family}: the training sequences have no such units")
    sizes = _sizes(settings, len(units))
    first = settings.schedule.first_rung(config)
    if first > config.epochs:
        raise ConfigError(
            "search.schedule.first", f"the first rung, epoch {first}, is after the last epoch {config.epochs}"
        )
    plan = Plan(
        config=config,
        settings=settings,
        units=units,
        sizes=sizes,
        first=first,
        budget=settings.budget or TIMES * config.epochs * config.steps_per_epoch,
        chance=math.log(shape.classes),
    )
    pool = Pool(units, sizes, {}, 0, 0, config.seed_for("data"))
    least = math.ceil(settings.proposal.least(pool) * plan.steps_of(first) / 0.75)
    if plan.budget < least:
        raise ConfigError(
            "search.budget",
            f"{plan.budget:,} run-steps are too few for one rung: {settings.proposal.kind} needs at least {least:,} "
            f"to compare {settings.proposal.least(pool):,} candidates at epoch {first}",
        )
    return plan


def _with_splits(config: RunConfig, settings: SearchSettings) -> RunConfig:
    """The config with examples set aside, where its task does not say how many."""
    names = {f.name for f in dataclasses.fields(config.task)}
    if "validation" not in names:
        raise ConfigError("task", f"{config.task.kind} cannot set examples aside for validation")
    missing = {n: getattr(settings, n) for n in ("validation", "confirmation") if not getattr(config.task, n)}
    task: Task = replace(config.task, **missing) if missing else config.task
    return replace(config, task=task)


def _check_config(config: RunConfig) -> None:
    if not config.model.has_attention:
        raise ConfigError("model", f"{config.model.kind} has no attention: a search compares priors on attention")
    if config.prior != KL():
        raise ConfigError(
            "prior", "the search sets the prior of every candidate itself; remove it from the configuration"
        )
    if config.task.shape.regression:
        raise ConfigError("task", f"{config.task.kind} has real-valued answers: a search needs classes")
    if config.constraint.attention != "learned":
        raise ConfigError(
            "constraint.attention", f"{config.constraint.attention}: a search needs attention that is learned"
        )
    if config.exact or config.depends_on_epochs:
        field, what = (
            ("exact", "true") if config.exact else ("optim.schedule", "the learning rate depends on the last epoch")
        )
        raise ConfigError(field, f"{what}: candidates that survive a rung could not be continued")
    config.check()


def _sizes(settings: SearchSettings, units: int) -> list[int]:
    if settings.k is None:
        return list(range(1, min(LARGEST, units) + 1))
    if settings.k > units:
        raise ConfigError(
            "search.k", f"{settings.k} is more than the {units} unit{'s' * (units > 1)} that a support can be made of"
        )
    return [settings.k]
