"""Settings in layers: dotted names become tables, and one table is laid over another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError
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
                raise ConfigError(name, f"{word} is not a table of settings")
        if isinstance(branch.get(leaf), dict):
            branch, leaf = branch[leaf], "kind"
        branch[leaf] = value
    return tree


def merge(base: Mapping[str, Any], over: Mapping[str, Any], settings: type[Settings] = RunConfig) -> dict[str, Any]:
    """`base` with the settings of `over`; choosing another kind for a component drops what was said of the old kind."""
    merged = dict(base)
    for name, value in over.items():
        held = settings.component_fields().get(name)
        if held is None or name not in base:
            merged[name] = value
            continue
        old, new = held.table(base[name], name), held.table(value, name)
        if "kind" in new and new["kind"] != held.kind_of(old):
            merged[name] = new
        else:
            merged[name] = merge(old, new, held.choose(old, name))
    return merged
