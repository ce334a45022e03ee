"""Runs that `--where` selects: by setting, name, tag or status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..conditions import resolve
from ..settings import flatten

if TYPE_CHECKING:
    from ..store import RunInfo

OF_RUN = ("name", "tag", "status", "run")
"""What can be asked for besides settings."""


def select_runs(runs: Sequence[RunInfo], wanted: Mapping[str, str], *, keep_damaged: bool = False) -> list[RunInfo]:
    """The runs that have all of these settings; numbers are compared by value. ConfigError for a setting that no run has.

    keep_damaged   keep damaged runs, whose settings are unknown, so that they do not vanish
    """
    if not wanted:
        return list(runs)
    settings = {run.id: flatten(run.config) for run in runs if run.config}
    known = {name for own in settings.values() for name in own} or {name for name in wanted if name not in OF_RUN}
    whole = {name: name if name in OF_RUN else resolve(name, known) for name in wanted}

    def is_wanted(run: RunInfo) -> bool:
        own = settings.get(run.id, {})
        return all(_has(run, own, whole[name], value) for name, value in wanted.items())

    return [run for run in runs if (keep_damaged and run.problem) or is_wanted(run)]


def _has(run: RunInfo, settings: Mapping[str, Any], name: str, value: str) -> bool:
    if name == "tag":
        return value in run.tags
    if name in OF_RUN:
        return {"name": run.name, "status": run.status, "run": run.id}[name] == value
    have = settings.get(name)
    return str(have) == value or _equal_numbers(have, value)


def _equal_numbers(have: Any, value: str) -> bool:
    try:
        return float(have) == float(value)
    except (TypeError, ValueError):
        return False
