"""Base class of tracks: a task with a network, and how long methods may train on it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from ...config import Log, RunConfig, Stop
from ...optim.adamw import AdamW
from ...registry import Registry
from ..methods.base import configured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...models import Model
    from ...tasks import Task

tracks: Registry[type[Track]] = Registry("track", "grokscope.race.tracks")

Scale = Literal["quick", "full"]


class Sizes(NamedTuple):
    """How much is run of a race."""

    draws: int
    """Settings that are drawn for each method."""
    finalists: int
    """Of these, how many go into the final."""
    tuning: int
    """Tuning seeds: one for all draws, the others for the final."""
    seeds: int
    """Fresh seeds that the chosen settings are scored on."""


SIZES: dict[Scale, Sizes] = {"full": Sizes(64, 4, 4, 20), "quick": Sizes(2, 1, 2, 2)}

OPTIM = AdamW(beta2=0.98, clip=0.0)
"""Where a method does not say otherwise: (0.9, 0.98) as in most of the field, ten epochs of warm-up, no clipping."""

RUNGS = (1 / 10, 1 / 4, 1 / 2, 1.0)
"""Fractions of the horizon at which draws are compared."""


class Track:
    """Base of all tracks. A subclass is registered under its letter; its docstring says in one line what it is."""

    kind: ClassVar[str] = ""
    title: ClassVar[str] = ""
    task: ClassVar[Task]
    model: ClassVar[Model]
    batch_size: ClassVar[int] = 0
    horizon: ClassVar[int]
    """Epochs after which a run that has not generalised counts as never."""
    every: ClassVar[int] = 25
    """Epochs between evaluations."""
    quick: ClassVar[Mapping[str, Any]] = {}
    """Settings of the quick size, `epochs` among them."""

    @property
    def experiment(self) -> str:
        """Name of the experiment that scores the methods."""
        return f"race-{self.kind}"

    def base(self, scale: Scale = "full") -> RunConfig:
        """A run of the track before a method changes it; it trains on after it has generalised, for as long again."""
        config = RunConfig(
            task=self.task,
            model=self.model,
            optim=OPTIM,
            batch_size=self.batch_size,
            epochs=self.horizon,
            log=Log(every=self.every),
            stop=Stop(extend=1.0),
        )
        return configured(config, self.quick) if scale == "quick" else config

    def tuning(self, scale: Scale, settings: Mapping[str, Any], seed: int, epochs: int) -> RunConfig:
        """A run that settings are judged by: it stops at its first crossing, and can be continued from rung to rung."""
        config = configured(self.base(scale), settings)
        return replace(config, stop=Stop(window=0), seed=seed, epochs=epochs).check()

    def rungs(self, scale: Scale) -> list[int]:
        """Epochs at which draws are compared, multiples of the interval of evaluations; the last is the horizon."""
        base = self.base(scale)
        every, last = base.log.every, base.epochs
        inner = {max(every, round(part * last / every) * every) for part in RUNGS[:-1]}
        return [*sorted(epoch for epoch in inner if epoch < last), last]


def track(name: str) -> Track:
    """A track by its letter, in either case; ConfigError with the nearest one if there is none."""
    entries = tracks.entries()
    return tracks.get(name if name in entries else name.upper() if name.upper() in entries else name)()
