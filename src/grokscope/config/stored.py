"""Configs of stored runs, possibly written by another version."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ..errors import ConfigError, StoreError
from .run import RunConfig

_told: set[str] = set()


def _once(line: str) -> None:
    if line not in _told:
        _told.add(line)
        print(line, file=sys.stderr)


def read_stored(plain: Mapping[str, Any], name: str, notify: Callable[[str], None] = _once) -> RunConfig:
    """The config of run `name`. Settings that this version does not know are ignored, and named once on stderr.

    StoreError for a run whose components are not registered or whose values are invalid.
    """
    config, unknown = RunConfig.stored(plain, name)
    if unknown:
        notify(f"run {name}: unknown setting {', '.join(unknown)}: ignored")
    elif config.id != name:
        # The store verifies that these are the settings of run `name`: it is the meaning of the settings that has changed.
        notify(f"run {name}: its settings now belong to run {config.id}; a component was changed after it was trained")
    return config


def read_stored_if_possible(plain: Mapping[str, Any], name: str) -> RunConfig | None:
    """The same; None, and the reason once on stderr, where the run's components are not registered or its values invalid. For
    pages about many runs, of which one must not block the others."""
    try:
        return read_stored(plain, name)
    except StoreError as error:
        _once(str(error))
        return None


def readable_settings(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run that cannot be read as a whole, with defaults in the components that can be."""
    settings = dict(plain)
    for name, held in RunConfig.component_fields().items():
        with suppress(ConfigError):
            settings[name] = held.read(plain.get(name, {}), name).to_dict()
    return settings
