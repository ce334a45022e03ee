"""What the reader of a page has chosen: which runs are shown, how they are coloured, which one is selected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import ConfigError
from ..store import FINISHED
from .run import LiveRun

ABSENT = "–"
"""Shown for a setting that a run does not have."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    where: Mapping[str, str] = field(default_factory=dict)
    """Settings, by dotted name."""
    status: str = ""
    """One of those of `status_group`."""
    text: str = ""
    """Part of an id, a name, a condition, or the settings behind it."""
    by: str = ""
    """Setting by which runs are coloured; by default the condition."""
    run: str = ""
    """Id of the selected run."""
    linear: bool = False
    """Whether the axis of epochs is linear."""

    def selects(self, run: LiveRun) -> bool:
        if self.status and self.status != status_group(run.info.status):
            return False
        words = f"{run.info.id} {run.info.name} {run.condition} {run.differs}"
        if self.text and self.text.lower() not in words.lower():
            return False
        return all(setting_of(run, name) == value for name, value in self.where.items())


def read_choice(text: str) -> Choice:
    """From the JSON that a page sends; ConfigError for anything else."""
    try:
        plain = json.loads(text or "{}")
        where = plain.pop("where", {})
        words = {name: plain.pop(name, "") for name in ("status", "text", "by", "run")}
        linear = plain.pop("linear", False)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ConfigError("view", "is not a JSON object") from None
    values = [*words.values(), *(where.values() if isinstance(where, dict) else [None])]
    if plain or not isinstance(linear, bool) or not all(isinstance(value, str) for value in values):
        raise ConfigError("view", "has settings that the page does not send")
    return Choice(where=where, linear=linear, **words)


def status_group(status: str) -> str:
    """running, finished, stopped, failed or damaged."""
    return "finished" if status in FINISHED else status


def setting_of(run: LiveRun, name: str) -> str:
    """A setting as it is shown and compared."""
    return str(run.settings[name]) if name in run.settings else ABSENT


def natural(text: str) -> tuple[int, float, str]:
    """A key that sorts numbers by value, before text."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text
