"""Runs that `--where` selects: by setting, name, tag or status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..conditions import resolve, shown_value
from ..errors import nearest, shown
from ..settings import flatten

if TYPE_CHECKING:
    from ..store import RunInfo

OF_RUN = ("name", "tag", "status", "run")
"""What can be asked for besides settings."""
MOST_NUMBERS = 5
"""Values that a message names."""


def select_runs(runs: Sequence[RunInfo], wanted: Mapping[str, str], *, keep_damaged: bool = False) -> list[RunInfo]:
    """The runs that have all of these settings; numbers are compared by value. ConfigError for a setting that no run has.

    keep_damaged   keep damaged runs, whose settings are unknown, so that they do not vanish
    """
    if not wanted:
        return list(runs)
    whole = {name: name if name in OF_RUN else _whole_name(name, runs) for name in wanted}

    def is_wanted(run: RunInfo) -> bool:
        return all(_has(run, whole[name], value) for name, value in wanted.items())

    return [run for run in runs if (keep_damaged and run.problem) or is_wanted(run)]


def unmatched(runs: Sequence[RunInfo], wanted: Mapping[str, str]) -> str:
    """Which of these settings no run has, with the nearest value that there is; empty if each is found somewhere."""
    if not runs:
        return ""
    for name, value in wanted.items():
        whole = name if name in OF_RUN else _whole_name(name, runs)
        if not any(_has(run, whole, value) for run in runs):
            return f"no run has {name} = {shown(value)}. {_nearest(value, _values(runs, whole))}"
    return ""


def _values(runs: Sequence[RunInfo], name: str) -> list[Any]:
    if name == "tag":
        return [tag for run in runs for tag in run.tags]
    found = [_of_run(run)[name] if name in OF_RUN else _setting(run, name) for run in runs]
    return [value for value in found if value not in (None, "")]


def _nearest(value: str, values: Sequence[Any]) -> str:
    """The value that is spelt most alike; of numbers the nearest ones."""
    if values and all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values):
        with suppress(ValueError):
            near = sorted(set(values), key=lambda one: abs(one - float(value)))[:MOST_NUMBERS]
            return f"The nearest are {', '.join(map(shown_value, near))}."
    return nearest(value, set(map(shown_value, values)))


def _of_run(run: RunInfo) -> dict[str, str]:
    return {"name": run.name, "status": run.status, "run": run.id}


def _whole_name(name: str, runs: Sequence[RunInfo]) -> str:
    """prior.beta for `beta`; a name that is whole already is found without listing all settings of all runs."""
    if any(_setting(run, name) is not None for run in runs) or not any(run.config for run in runs):
        return name
    return resolve(name, {known for run in runs for known in flatten(run.config)})


def _setting(run: RunInfo, name: str) -> Any:
    """The value of a setting by its whole name; None if the run does not have it."""
    value: Any = run.config
    for step in name.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if value is None or isinstance(value, dict):  # settings that another program logged may have dots in their names
        return flatten(run.config).get(name)
    return value


def _has(run: RunInfo, name: str, value: str) -> bool:
    if name == "tag":
        return value in run.tags
    if name in OF_RUN:
        return _of_run(run)[name] == value
    have = _setting(run, name)
    return str(have) == value or _equal_numbers(have, value)


def _equal_numbers(have: Any, value: str) -> bool:
    try:
        return float(have) == float(value)
    except (TypeError, ValueError):
        return False
