"""Base class of methods: what they change in a run, the space that their settings are drawn from, and what their authors report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from ...config import RunConfig, merge, nested
from ...errors import ConfigError, shown
from ...registry import Registry
from ...settings import require
from ..space import LogUniform, Space, draws, middle

accelerators: Registry[type[Method]] = Registry("method", "grokscope.race.methods")

LR = LogUniform(1e-4, 1e-1)
DECAY = LogUniform(1e-2, 10.0)
ADAMW: Space = {"optim.lr": LR, "optim.weight_decay": DECAY}
"""Learning rate and weight decay of AdamW, which most methods change something of."""


class Control(NamedTuple):
    """The positive control of a method: its authors' recipe on their own task, and what they report."""

    settings: Mapping[str, Any]
    """Dotted settings on top of a run's defaults: task, model and optimizer."""
    reported: str
    """What the authors report, with its source."""
    steps: float | None = None
    """The published number of optimizer steps to `threshold` test accuracy; None where no number is public."""
    threshold: float = 0.95
    baseline: Mapping[str, Any] | None = None
    """What their own baseline changes in the recipe, for comparison where there is no number; None where there is one."""
    differs: str = ""
    """What of the recipe this package cannot do, or does otherwise."""


class Method:
    """Base of all methods. A subclass is registered under its name; its docstring says in one line what it does and cites it."""

    kind: ClassVar[str] = ""
    title: ClassVar[str] = ""
    """Its name in tables and pictures."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """Dotted settings that are the same in all draws."""
    space: ClassVar[Space] = ADAMW
    """Ranges that the other settings are drawn from."""
    told: ClassVar[bool] = False
    """Whether it is told which tokens matter."""
    inherits: ClassVar[str] = ""
    """Name of the method whose tuned settings it takes, in place of draws of its own."""
    control: ClassVar[Control | None] = None
    """None where there is no published recipe that could be run."""
    uncontrolled: ClassVar[str] = ""
    """Why there is none."""

    def draws(self, count: int) -> list[dict[str, Any]]:
        """The first draws of its settings; the same on every track."""
        return [{**self.settings, **drawn} for drawn in draws(self.kind, self.space, count)]

    def middle(self) -> dict[str, Any]:
        """Its settings in the middle of every range."""
        return {**self.settings, **middle(self.space)}

    def applies(self, base: RunConfig) -> str:
        """Why it does not apply to a track, in one line; empty if it does.

        base   a run of the track
        """
        try:
            configured(base, self.middle()).check()
        except ConfigError as error:
            return str(error)
        return ""


def configured(base: RunConfig, settings: Mapping[str, Any]) -> RunConfig:
    """A run with dotted settings on top."""
    return RunConfig.from_dict(merge(base.changes(), nested(dict(settings))))


def method(name: str) -> Method:
    """A method by name; ConfigError with the nearest one if there is none."""
    return accelerators.get(name)()


def methods_on(base: RunConfig) -> tuple[dict[str, Method], dict[str, str]]:
    """The methods that apply to a track, by name, and why each other one does not; ConfigError if one has no title of its own."""
    every = {name: cls() for name, cls in sorted(accelerators.entries().items())}
    _check_titles(every)
    reasons = {name: own.applies(base) for name, own in every.items()}
    return (
        {name: own for name, own in every.items() if not reasons[name]},
        {name: reason for name, reason in reasons.items() if reason},
    )


def _check_titles(methods: Mapping[str, Method]) -> None:
    """Raise ConfigError for a method without a title, or with that of another: results are stored under titles."""
    owner: dict[str, str] = {}
    for name, own in methods.items():
        require(own.title != "", "title", f"method {name} has none; tables name it by its title")
        first = owner.setdefault(own.title, name)
        require(
            first == name, "title", f"methods {first} and {name} are both called {shown(own.title)}; rename one of them"
        )
