"""Fleets of a plain nn.Module: `grokscope.train(config, model=lambda: MyModule())`, or a module class in a file given to --load.

A module is called with tokens [example, position] (or vectors [example, feature]) and returns logits [example, class], or
[example, position, class], of which the last position counts. Constructor arguments named `vocabulary`, `length`, `classes` and
`features` are those of the task; other ones with a default are settings of the model.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn

from ..config import require_config, with_seeds
from ..errors import ConfigError
from ..launch import local
from ..limits import chosen_seeds
from ..models import Model, Output, models
from ..ops.lookup import Plan
from ..settings import setting
from ..store import read_run, write_tags
from ..store.tags import check_word
from .template import Probe, Template, probe, templates
from .watching import Callback, Watch, bar_for

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ..config import RunConfig
    from ..models import Parameter
    from ..store import RunInfo
    from ..tasks import Shape

OF_TASK = ("vocabulary", "length", "classes", "features")
"""Constructor arguments that the task decides."""


@dataclass(frozen=True, kw_only=True)
class ModuleModel(Model):
    """A plain nn.Module. Subclasses are made by `model_class`."""

    code: str = setting("", since=2)
    """Hash of the module's code, where it is not in a file given to --load."""

    build: ClassVar[Callable[..., nn.Module]]

    def check_task(self, shape: Shape) -> None:
        found = self._probe(shape)
        if found.note:
            _say(found.note)

    @property
    def has_attention(self) -> bool:  # type: ignore[override]
        known = [found for (model, _), found in _PROBES.items() if model == self]
        return known[-1].heads > 0 if known else True

    @property
    def heads(self) -> int:
        return next(found.heads for (model, _), found in reversed(_PROBES.items()) if model == self)

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        return self._probe(shape).parameters

    def init(self, shape: Shape, generator: Generator) -> dict[str, Tensor]:
        """The module's own initialisation, seeded from the run's stream."""
        seed = int(torch.randint(2**62, (), generator=generator))
        return Template(self._new(shape, seed)).initial()

    def forward(
        self,
        weights: dict[str, Tensor],
        inputs: Any,
        *,
        training: bool = False,
        key: Any = None,
        frozen: Tensor | None = None,
        offset: Tensor | None = None,
        detail: bool = False,
        every_position: bool = False,
        **how: Any,
    ) -> Output:
        if frozen is not None:
            raise ConfigError("constraint.attention", f"the attention of {self.kind} cannot be frozen")
        shape = self._shape_of(inputs)
        own = templates.__dict__.setdefault("own", {})
        if (self, shape) not in own:
            found = self._probe(shape)
            # a copy: building another one would draw from PyTorch's global generator
            own[self, shape] = Template(copy.deepcopy(found.module), layers=found.layers)
        given = inputs.row // (inputs.starts.shape[-1] // shape.vocabulary) if isinstance(inputs, Plan) else inputs
        return own[self, shape](
            weights,
            given,
            training=training,
            key=key,
            offset=offset,
            detail=detail,
            every_position=every_position,
        )

    def lipschitz(self, weights: dict[str, Tensor]) -> Any:
        """Not known, like the other norms."""
        return None

    def value_norm(self, weights: dict[str, Tensor]) -> Any:
        return None

    def sensitivity(self, out: Output) -> Any:
        return None

    def embedding_norm(self, weights: dict[str, Tensor], plan: Plan, out: Output) -> Any:
        return None

    def interaction_gradient(self, weights: dict[str, Tensor], plan: Plan, out: Output, gradient: Tensor) -> Any:
        scale = self._probe(self._shape_of(plan)).scale
        if out.stream is None or scale is None:
            return None
        keys = torch.einsum("nhj,njd->nhd", gradient, out.stream)
        return scale * torch.einsum("nq,nhd->hqd", out.stream[:, -1], keys)

    def _new(self, shape: Shape, seed: int = 0) -> nn.Module:
        values = {name: getattr(self, name) for name in _settings_of(type(self))}
        taken = inspect.signature(type(self).build).parameters
        values |= {name: getattr(shape, name) for name in OF_TASK if name in taken}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return type(self).build(**values)

    def _probe(self, shape: Shape) -> Probe:
        if (self, shape) not in _PROBES:
            size = (2, shape.features) if shape.features else (2, shape.length)
            inputs = torch.zeros(size) if shape.features else torch.zeros(size, dtype=torch.long)
            _PROBES[self, shape] = probe(self._new(shape), inputs)
        return _PROBES[self, shape]

    def _shape_of(self, inputs: Any) -> Shape:
        """The task's shape, from the sizes of the inputs."""
        shapes = [shape for model, shape in _PROBES if model == self]
        if isinstance(inputs, Plan):
            rows, length = inputs.starts.shape[-1], inputs.row.shape[-1]
            shapes = [
                shape
                for shape in shapes
                if length in (shape.length, shape.test_length)
                and rows == shape.vocabulary * max(shape.length, shape.test_length)
            ]
        return shapes[-1]


_PROBES: dict[tuple[ModuleModel, Shape], Probe] = {}
_SAID: set[str] = set()


def train(
    config: RunConfig,
    *,
    model: Callable[..., nn.Module] | None = None,
    seeds: int | Iterable[int] | None = None,
    device: str = "auto",
    runs: str | Path = "runs",
    lanes: int | None = None,
    progress: Any = "auto",
    callbacks: Sequence[Callback] = (),
    track: Any = (),
    name: str | None = None,
) -> list[RunInfo]:
    """Train one configuration with several seeds in parallel; finished runs are returned unchanged.

    model      a function that builds an nn.Module, in place of the model of `config`; see `grokscope.attach.fleet`
    seeds      number of seeds (0 … n−1), or a list of seeds; by default that of `config`, which is 0 unless it is set
    device     auto, cpu, cuda or cuda:1
    runs       folder with one subfolder per run
    lanes      how many runs train at once: per fleet on a GPU (None: limited by memory), in total on a CPU (None: by cores)
    progress   "auto": a bar in a notebook and on a terminal; True: always; False: never; or an object with `update(lanes, waiting)`
    callbacks  functions that are called with every evaluation as a dict: `run`, `seed`, `status`, `epoch`, `test_accuracy` and all
               other measurements; see `grokscope.attach.watching`
    track      "tensorboard", "wandb", "trackio", a function from a run's id and settings to an object with `log(row)` and
               `finish()`, or several: they are sent every new row
    name       what to call the runs in lists; not part of their identity

    Ctrl-C saves the runs and returns them with status "stopped"; the same call continues from there.
    """
    config = require_config(config)
    if model is not None:
        config = replace(config, model=model_from(model, config.task.shape))
    if name is not None:
        check_word("name", name, empty=True)
    chosen = chosen_seeds(seeds)
    shown = hasattr(progress, "update")
    bar = None if shown else bar_for(progress)
    watch = Watch(with_seeds(config, chosen), bar, callbacks, progress if shown else None)
    try:
        trained = local.train(config, seeds=chosen, device=device, runs=runs, lanes=lanes, progress=watch, track=track)
    finally:
        if bar is not None:
            bar.close()
    if name is None:
        return trained
    for run in trained:
        write_tags(run.path, name=name)
    return [read_run(run.path) for run in trained]


def model_from(build: Callable[..., nn.Module], shape: Shape) -> ModuleModel:
    """The settings of a model that `build` makes; its code is part of the run's id."""
    taken = inspect.signature(build).parameters
    wanted = [name for name in _needed(taken) if name not in OF_TASK]
    if wanted:
        raise ConfigError("model", f"needs a value for {', '.join(wanted)}; give a function without arguments")
    with torch.random.fork_rng(devices=[]):
        made = build(**{name: getattr(shape, name) for name in OF_TASK if name in taken})
    if not isinstance(made, nn.Module):
        raise ConfigError("model", f"returns {type(made).__name__}, not an nn.Module")
    kind = type(made).__name__
    chosen = _registered(model_class(kind, build, settings={}))  # so that its runs can be read again in this process
    return chosen(code=_digest(made))


def register_modules(names: Iterable[str]) -> None:
    """Register the nn.Module classes that loaded files define, by class name.

    names   names of their modules
    """
    for name in names:
        for cls in list(vars(sys.modules[name]).values()):
            is_own = isinstance(cls, type) and issubclass(cls, nn.Module) and cls.__module__ == name
            if is_own and not cls.__name__.startswith("_") and _is_whole(cls):
                settings = {
                    key: one.default
                    for key, one in inspect.signature(cls).parameters.items()
                    if one.default is not one.empty and type(one.default) in (int, float, str, bool)
                }
                _registered(model_class(cls.__name__, cls, settings))


def _registered(chosen: type[ModuleModel]) -> type[ModuleModel]:
    known = models.entries().get(chosen.kind)
    if known is not None and not issubclass(known, ModuleModel):
        raise ConfigError("model", f"a model is called {chosen.kind!r} already; rename the class")
    models.replace(chosen.kind, chosen)
    return chosen


def model_class(kind: str, build: Callable[..., nn.Module], settings: dict[str, Any]) -> type[ModuleModel]:
    """A class of settings for modules that `build` makes.

    settings   constructor arguments that can be set, with their defaults
    """
    fields = [(name, type(value), dataclasses.field(default=value)) for name, value in settings.items()]
    made = dataclasses.make_dataclass(kind, fields, bases=(ModuleModel,), frozen=True, kw_only=True)
    made.build = staticmethod(build)  # type: ignore[attr-defined]
    made.kind = kind  # type: ignore[attr-defined]
    made.__doc__ = inspect.getdoc(build) or f"The nn.Module {kind}."
    return made


def _settings_of(cls: type[ModuleModel]) -> list[str]:
    return [f.name for f in dataclasses.fields(cls) if f.name != "code"]


def _is_whole(cls: type[nn.Module]) -> bool:
    """Whether a class can be built from what the task decides: then it is a network, and not a part of one."""
    taken = inspect.signature(cls).parameters
    return all(name in OF_TASK for name in _needed(taken)) and any(name in OF_TASK for name in taken)


def _needed(taken: Mapping[str, inspect.Parameter]) -> list[str]:
    """Arguments without a default."""
    return [
        name for name, one in taken.items() if one.default is one.empty and one.kind not in (2, 4)
    ]  # *args, **kwargs


def _digest(module: nn.Module) -> str:
    """A hash of what a module is made of: classes with their code, settings that it shows, shapes."""
    classes = sorted({type(one) for one in module.modules()}, key=lambda cls: (cls.__module__, cls.__qualname__))
    parts = [repr(module), *(f"{name} {tuple(t.shape)}" for name, t in module.state_dict().items())]
    for cls in classes:
        try:
            parts.append("" if cls.__module__.startswith("torch.") else inspect.getsource(cls))
        except (OSError, TypeError):  # typed into a prompt
            parts.append(cls.__qualname__)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _say(line: str) -> None:
    if line not in _SAID:
        _SAID.add(line)
        print(line, file=sys.stderr)
