"""Layered settings: dotted names become nested tables, and one table overrides another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ConfigError, named, shown
from ..settings import Settings
from .run import RunConfig


def nested(dotted: Mapping[str, Any]) -> dict[str, Any]:
    """{"task.p": 97} → {"task": {"p": 97}}; the name of a component, as in {"task": "parity"}, chooses its kind."""
    tree: dict[str, Any] = {}
    for name, value in dotted.items():
        *path, leaf = name.split(".")
        branch = tree
        for word in path:
            if isinstance(branch.get(word), str):
                branch[word] = {"kind": branch[word]}
            branch = branch.setdefault(word, {})
            if not isinstance(branch, dict):
                raise ConfigError(named(name), f"{named(word)} is not a table of settings")
        if isinstance(branch.get(leaf), dict):
            branch, leaf = branch[leaf], "kind"
        branch[leaf] = value
    return tree


def merge(
    base: Mapping[str, Any],
    over: Mapping[str, Any],
    settings: type[Settings] = RunConfig,
    *,
    path: str = "",
    source: str = "",
    notify: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """`base` with the settings of `over` on top.

    If `over` chooses another kind for a component, settings of the old kind in `base` are kept if the new kind has a setting of
    that name that accepts the value. Only values written in `base` count: pass `changes()` of a config, not `to_dict()`, or the
    defaults of the old kind would be kept too.

    source   where `base` comes from, for the message
    notify   called with one line about settings that are not kept
    """
    merged = dict(base)
    for name, value in over.items():
        held = settings.component_fields().get(name)
        if held is None or name not in base:
            merged[name] = value
            continue
        where = f"{path}.{name}" if path else name
        old, new = held.table(base[name], where), held.table(value, where)
        chosen = held.choose(new if "kind" in new else old, where)
        if "kind" in new and new["kind"] != held.kind_of(old):
            old = _kept(old, chosen, where, source, notify)
        merged[name] = merge(old, new, chosen, path=where, source=source, notify=notify)
    return merged


def _kept(
    old: Mapping[str, Any], settings: type[Settings], path: str, source: str, notify: Callable[[str], None]
) -> dict[str, Any]:
    """The settings of another kind's table that `settings` accepts."""
    names = {f.name for f in dataclasses.fields(settings)}
    kept, unknown, unfit = {}, [], []
    for name, value in settings.respell(dict(old)).items():
        if name == "kind":
            continue
        if name not in names:
            unknown.append(name)
            continue
        try:
            settings.read_field(name, value)
            kept[name] = value
        except ConfigError:
            unfit.append(f"{name} = {shown(value)}")
    origin = f" (from {source})" if source else ""
    if unknown:
        notify(f"{path} {settings.kind} has no setting {', '.join(unknown)}{origin}: ignored")
    if unfit:
        notify(f"{path} {settings.kind} does not accept {', '.join(unfit)}{origin}: ignored")
    return kept
