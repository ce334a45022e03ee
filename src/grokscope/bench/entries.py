"""What `bench --all` times: every registry entry and every choice of the default model, one at a time, and some named networks."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args, get_origin

import torch

from ..config import COMPONENTS, RunConfig, merge, nested
from ..errors import ConfigError
from ..fleet.start import initial_weights
from ..models import Model, models
from ..models.embedding_mlp import EmbeddingMLP
from ..models.lstm import LSTM
from ..models.parts.base import Part
from ..models.parts.mlp.relu import ReLU
from ..models.parts.norm.layer import LayerNorm
from ..models.parts.norm.placement import Placement
from ..models.parts.norm.rms import RMSNorm
from ..models.transformer import Transformer
from ..optim import losses
from ..randomness import stream
from ..settings import Settings
from ..tasks import Task, tasks
from ..tasks.base import Examples, Shape, Split
from ..tasks.modular import Modular
from ..tickets import Origin, Ticket, tickets
from ..tickets.base import FromRun


class Entry(NamedTuple):
    """A run to time."""

    name: str
    """The setting that differs from the base, or the name of a network."""
    config: RunConfig | None
    problem: str = ""
    """Why there is no config."""


REFERENCES: Mapping[str, dict[str, Any]] = {
    "standard": {
        "task": Modular(p=113, distractors=0, train_fraction=0.3),
        "model": Transformer(d=128, d_mlp=512, heads=4, scope="causal"),
    },
    "power": {
        "task": Modular(p=97, distractors=0, train_fraction=0.5),
        "model": Transformer(d=128, d_mlp=512, heads=4, layers=2, scope="causal"),
        "batch_size": 512,
    },
    "tickets": {
        "task": Modular(p=67, pairs="unordered", distractors=0, train_fraction=0.4),
        "model": EmbeddingMLP(d=500, d_mlp=48),
    },
}
"""Networks of the field: one layer with four heads (Nanda et al. 2023), two layers in batches (Power et al. 2022), and the MLP of
grokking tickets."""


def network_of(config: RunConfig) -> str:
    """The name of a network whose speed has a target, with any norm: default or one of `REFERENCES`; empty for another run."""
    model = config.model
    plain = replace(model, norm="none", norm_kind=LayerNorm()) if isinstance(model, Transformer) else model
    own = replace(config, model=plain)
    for name, settings in {"default": {}, **REFERENCES}.items():
        if own == replace(RunConfig(precision=config.precision), **settings):
            return name if name != "default" or plain == model else ""
    return ""


SIZES: Mapping[str, dict[str, Any]] = {"heads": {"heads": 4}, "layers": {"layers": 2, "scope": "causal"}}
"""Settings of the default model that are numbers but change how it is computed."""
ALONGSIDE: Mapping[str, dict[str, Any]] = {"norm_kind": {"norm": "both"}}
"""What a choice needs to make a difference."""
OTHER: Mapping[str, dict[str, Any]] = {
    "batch_size": {"batch_size": 512},
    "constraint.norm": {"constraint.norm": 10.0},
    "constraint.qk_penalty": {"constraint.qk_penalty": 0.001},
    "constraint.attention": {"constraint.attention": "oracle"},
    "noise.weights": {"noise.weights": 0.01},
    "noise.labels": {"noise.labels": 0.1, "noise.redraw": "every-step"},
    "model.dropout": {"model.dropout": 0.1},
}
"""Settings outside the registries."""
OWN_MODEL: Mapping[str, tuple[dict[str, Any], Model]] = {"imdb": ({"length": 100}, LSTM(padding=0))}
"""Tasks that are trained with another model than the base's: reviews, cut to 100 words, with the LSTM."""


def entries(base: RunConfig) -> Iterator[Entry]:
    """All entries; `base` is the run that each changes in one place."""
    yield Entry("default", base)
    for name, settings in REFERENCES.items():
        yield _entry(name, base, settings)
    for name, changes in _of_norms():
        settings = REFERENCES[name.partition(",")[0]]
        yield _entry(name, base, settings | {"model": replace(settings["model"], **changes)})
    for kind in models.entries():
        if kind != base.model.kind:
            yield _of_model(base, kind)
    yield from _of_parts(base)
    for component in ("optim", "filter", "prior"):
        for kind, cls in COMPONENTS[component].entries().items():
            settings = {"beta": 0.1} if component == "prior" else {}
            if kind != getattr(base, component).kind or settings:
                yield _entry(f"{component}={kind}", base, {component: cls(**settings)})
    for loss in losses.entries():
        if loss != base.loss:
            yield _entry(f"loss={loss}", base, {"loss": loss})
    for kind, ticket in tickets.entries().items():
        if kind != base.ticket.kind:
            yield _entry(f"ticket={kind}", base, {"ticket": ticket(**_ticket_settings(ticket))})
    for kind in tasks.entries():
        if kind != base.task.kind:
            yield _of_task(base, kind)
    for changes in OTHER.values():
        yield _changed(base, changes)


def _of_norms() -> Iterator[tuple[str, dict[str, Any]]]:
    """Networks of `REFERENCES` with norms at every place, without and with gain and bias, and with biases of the MLP."""
    scaled = {"norm_kind": LayerNorm(affine=True)}
    for norm in get_args(Placement):
        if norm != "none":
            yield f"standard, norm={norm}", {"norm": norm}
            yield f"standard, norm={norm}, gain and bias", {"norm": norm, **scaled}
    yield "standard, norm=both, gain", {"norm": "both", "norm_kind": RMSNorm(affine=True)}
    yield "standard, biases", {"mlp": ReLU(bias=True)}
    everything = {"norm": "both", "mlp": ReLU(bias=True), **scaled}
    yield "standard, norm=both, gain, bias and biases", everything
    yield "power, norm=both", {"norm": "both"}
    yield "power, norm=both, gain, bias and biases", everything


def _ticket_settings(ticket: type[Ticket]) -> dict[str, Any]:
    """A run that it comes from, and few rounds of pruning: what happens before the first step is not timed."""
    names = {field.name for field in dataclasses.fields(ticket)}
    return {name: value for name, value in (("run", "origin"), ("rounds", 2)) if name in names}


def _of_model(base: RunConfig, kind: str) -> Entry:
    """A model on the first task that it reads: that of the base, else vectors with classes or real answers."""
    model = models.get(kind)()
    for task in (
        base.task,
        *(tasks.get(name)(**more) for name, more in (("parity", {"form": "signs"}), ("polynomial", {}))),
    ):
        try:
            model.check_task(task.shape)
        except ConfigError:
            continue
        return _entry(f"model={kind}", base, {"model": model, "task": task})
    return Entry(f"model={kind}", None, "no task that it reads")


def _of_parts(base: RunConfig) -> Iterator[Entry]:
    """The choices of the base's model: parts, literals and flags, and those of its parts."""
    model = base.model
    for field in dataclasses.fields(model):
        if field.name in SIZES:
            yield _entry(
                f"model.{field.name}={SIZES[field.name][field.name]}",
                base,
                {"model": replace(model, **SIZES[field.name])},
            )
        for choice in _choices(type(model), field.name):
            if choice != getattr(getattr(model, field.name), "kind", getattr(model, field.name)):
                settings = {field.name: choice, **ALONGSIDE.get(field.name, {})}
                yield _entry(f"model.{field.name}={_word(choice)}", base, {"model": replace(model, **settings)})
        part = getattr(model, field.name)
        for own in dataclasses.fields(part) if isinstance(part, Part) else ():
            for choice in _choices(type(part), own.name):
                if choice != getattr(part, own.name):
                    settings = {field.name: replace(part, **{own.name: choice}), **ALONGSIDE.get(field.name, {})}
                    name = f"model.{field.name}.{own.name}={_word(choice)}"
                    yield _entry(name, base, {"model": replace(model, **settings)})


def _choices(model: type[Settings], field: str) -> list[Any]:
    """The values that a field can take, if they can be listed."""
    held = model.component_fields().get(field)
    if held is not None:
        return list(held.registry.entries()) if held.registry is not None else []
    hint = typing.get_type_hints(model).get(field)
    if hint is bool:
        return [False, True]
    return list(get_args(hint)) if get_origin(hint) is Literal else []


def _word(choice: Any) -> str:
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def _of_task(base: RunConfig, kind: str) -> Entry:
    if kind in OWN_MODEL:
        more, model = OWN_MODEL[kind]
        return _entry(f"task={kind}", base, {"task": tasks.get(kind)(**more), "model": model})
    task = tasks.get(kind)()
    model = base.model
    if task.shape.features:
        model = models.get("mlp")()
    elif task.shape.every_position and hasattr(model, "scope"):
        model = replace(model, scope="causal")  # type: ignore[call-arg]
    return _entry(f"task={kind}", base, {"task": task, "model": model})


def _changed(base: RunConfig, changes: dict[str, Any]) -> Entry:
    name = ", ".join(f"{field}={value}" for field, value in changes.items())
    try:
        config = RunConfig.from_dict(merge(base.to_dict(), nested(changes)))
    except ConfigError as error:
        return Entry(name, None, str(error))
    return _checked(name, config)


def _entry(name: str, base: RunConfig, settings: dict[str, Any]) -> Entry:
    """The base with other settings, and what goes with them: a loss for real answers, no prior without attention."""
    config = replace(base, **settings)
    if config.task.shape.regression:
        config = replace(config, loss="mse")
    if not (config.model.has_attention and config.task.knows_informative):
        config = replace(config, prior=replace(config.prior, beta=0.0))
    return _checked(name, config)


def _checked(name: str, config: RunConfig) -> Entry:
    try:
        return Entry(name, with_data(config.check()))
    except ConfigError as error:
        return Entry(name, None, str(error))


def with_data(config: RunConfig) -> RunConfig:
    """The config with random examples of the same shape where the data of its task are not on this machine: the speed of a
    step does not depend on them."""
    try:
        config.task.require_data()
    except ConfigError:
        return replace(config, task=_random_data(config.task))
    return config


def _random_data(task: Task) -> Task:
    stand_in = replace(task)
    object.__setattr__(stand_in, "split", lambda seed: _random_split(task.shape, seed))
    return stand_in


def _random_split(shape: Shape, seed: int) -> Split:
    generator = stream(seed, "random data")

    def examples(count: int, length: int) -> Examples:
        if shape.features:
            inputs = torch.randn(count, shape.features, generator=generator)
        else:
            inputs = torch.randint(1, shape.vocabulary - 1, (count, length), generator=generator)
            inputs[:, -1] = shape.vocabulary - 1
        return Examples(inputs, torch.randint(shape.classes, (count,), generator=generator))

    return Split(examples(shape.train_size, shape.length), examples(shape.test_size, shape.test_length))


def origin_for(config: RunConfig) -> Origin | None:
    """A run for the tickets that come from one: its weights are random, which changes nothing about the speed."""
    if not isinstance(config.ticket, FromRun):
        return None
    weights = initial_weights(config, "origin")
    generator = stream(config.seed, "origin mask")
    mask = {
        name: torch.rand(weights[name].shape, generator=generator) > 0.6
        for name, parameter in config.model.parameters(config.task.shape).items()
        if parameter.role != "bias"
    }
    return Origin(start=weights, trained=weights, mask=mask)
