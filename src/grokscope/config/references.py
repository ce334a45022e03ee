"""Runs that refer to other runs: a teacher, the parent of a branch, the origin of a ticket or a transplant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .run import RunConfig

REFERENCES = ("prior.teacher", "ticket.run", "branch.run", "do.run", "do.first.run", "do.second.run")
"""Settings that name another run."""


def in_stages(configs: Iterable[RunConfig]) -> list[list[RunConfig]]:
    """The runs in the order in which they can be trained: those that others refer to come first."""
    wanted = {config.id: config for config in configs}
    stage_of: dict[str, int] = {}

    def stage(id: str) -> int:
        if id not in stage_of:
            stage_of[id] = 1 + max((stage(run) for run in origins(wanted[id]) if run in wanted), default=-1)
        return stage_of[id]

    stages: list[list[RunConfig]] = []
    for id, config in wanted.items():
        own = stage(id)
        stages += [[] for _ in range(own + 1 - len(stages))]
        stages[own].append(config)
    return stages


def origins(config: RunConfig) -> set[str]:
    """The runs that this one refers to: its teacher, its parent, where its ticket or a transplant comes from."""
    return {run for setting in REFERENCES if (run := referred(config, setting))}


def referred(config: RunConfig, setting: str) -> str:
    """The run that a setting names; empty if it names none, or there is no such setting."""
    found: Any = config
    for name in setting.split("."):
        found = getattr(found, name, "")
    return found if isinstance(found, str) else ""
