"""What an executor is, and how one is chosen: `local`, `slurm`, `ray`, `ray://HOST:PORT`."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Protocol

from ...errors import ConfigError, nearest, within
from ...registry import Registry
from ...settings import Settings
from ..chunks import Chunk
from ..worker import Outcome, Task


class Submission(Protocol):
    """Tasks that were handed to an executor."""

    def poll(self) -> bool:
        """Whether any task has not ended yet."""

    def outcomes(self) -> list[Outcome]:
        """How the tasks ended that have, as far as that is known."""

    def lost(self) -> str:
        """One line about tasks that ended without an outcome; empty if there are none."""

    def close(self, interrupted: bool) -> str:
        """The command ends. Returns a line for the user, such as how to look at tasks that continue."""


@dataclass(frozen=True, kw_only=True)
class Executor(Settings):
    """Settings of an executor; `--set slurm.partition=gpu` sets one."""

    takes_address: ClassVar[bool] = False
    """Whether its name may be followed by an address."""

    def in_process(self, device: str) -> bool:
        """Whether the calling process trains everything itself."""
        return False

    def own_device(self, device: str) -> str:
        """The device that the calling process then trains on."""
        return device

    @abstractmethod
    def uses_gpu(self, device: str) -> bool:
        """Whether the workers train on GPUs."""

    @abstractmethod
    def cut(self, configs: Sequence[Any], device: str, lanes: int | None) -> tuple[Chunk, ...]:
        """The chunks that these runs are trained in."""

    @abstractmethod
    def submit(self, tasks: Sequence[Task], chunks: Sequence[Chunk], runs: Path) -> Submission:
        """Hand tasks over; ConfigError if the cluster refuses them or cannot be reached."""

    def task_device(self, device: str) -> str:
        """The device that a task asks for on its worker."""
        return "cuda" if self.uses_gpu(device) else "cpu"

    def active(self, record: Mapping[str, Any]) -> dict[str, str]:
        """Jobs of a record (`jobs`) that have not ended, with their state in words."""
        return {}

    def cancel(self, record: Mapping[str, Any], jobs: Sequence[str]) -> None:
        """End these jobs; their runs are saved."""


executors: Registry[type[Executor]] = Registry("--on", "grokscope.launch.executors")


def parse_place(on: str, settings: dict[str, Any]) -> Executor:
    """The executor called `on`. Its settings, such as `slurm.partition`, are taken out of `settings`."""
    name, separator, address = on.partition("://")
    if name not in executors.entries():
        raise ConfigError("--on", f"no executor is called {name!r}. {nearest(name, executors.entries())}")
    chosen = executors.get(name)
    if separator and not chosen.takes_address:
        raise ConfigError("--on", f"{name} takes no address; write --on {name}")
    own: dict[str, Any] = {"address": f"{name}://{address}"} if address else {}
    for key in list(settings):
        component, _, field = key.partition(".")
        if component == name:
            own[field] = settings.pop(key)
        elif component in executors.entries():
            raise ConfigError(key, f"takes effect with --on {component} only")
    place = chosen.from_dict(own, path=name)
    with within(name):
        place.check()
    return place


def required(package: str, extra: str) -> ModuleType:
    """Import a package that an executor needs."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ConfigError(
            "--on", f"{extra} needs the package {package}, which is not installed: pip install 'grokscope[{extra}]'"
        ) from None
