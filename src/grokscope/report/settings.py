"""Settings of the runs on a page: complete values, their meanings, and the names of the positions of a sequence."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..conditions import shown_value
from ..config import RunConfig, read_stored, readable_settings
from ..config.watched import MEANINGS, is_watched
from ..describe import meanings
from ..errors import StoreError
from ..settings import flatten
from ..store import RunInfo
from .page import Setting

MOST_VALUES = 12
"""Values of one setting that the table shows."""


class ReadSettings(NamedTuple):
    """The settings of some runs, in the same order."""

    configs: list[RunConfig | None]
    """None where a run's components are not registered or its values are invalid."""
    values: list[dict[str, Any]]
    """Plain values. Those that did not exist when a run was stored have their default, so that runs of several versions can be
    compared."""
    notes: list[str]
    """What could not be read, or is ignored, each with the runs concerned."""

    def reordered(self, order: Sequence[int]) -> ReadSettings:
        """The same of the runs in another order."""
        return ReadSettings([self.configs[at] for at in order], [self.values[at] for at in order], self.notes)


def read_settings(runs: Sequence[RunInfo]) -> ReadSettings:
    """Read the configs of runs; those that differ only in the seed are read once."""
    known: dict[str, tuple[RunConfig | None, dict[str, Any], list[str]]] = {}
    configs, values, concerned = [], [], dict[str, list[str]]()
    for run in runs:
        seed = run.config.get("seed")
        key = json.dumps({**run.config, "seed": None if type(seed) is int else seed})
        if key not in known:
            known[key] = _read(run)
        config, plain, notes = known[key]
        configs.append(dataclasses.replace(config, seed=seed) if config and type(seed) is int else config)
        values.append({**plain, "seed": seed})
        for note in notes:
            concerned.setdefault(note, []).append(run.id)
    return ReadSettings(configs, values, [f"{_named(ids)}: {note}" for note, ids in concerned.items()])


def _read(run: RunInfo) -> tuple[RunConfig | None, dict[str, Any], list[str]]:
    notes: list[str] = []
    config = None
    if is_watched(run.config):
        return None, dict(run.config), notes
    try:
        config = read_stored(run.config, run.id, notify=notes.append)
    except StoreError as error:
        notes.append(str(error))
    plain = config.to_dict() if config else readable_settings(run.config)
    return config, plain, [note.removeprefix(f"run {run.id}: ") for note in notes]


def _named(ids: Sequence[str]) -> str:
    if len(ids) == 1:
        return f"run {ids[0]}"
    return f"{len(ids):,} runs ({', '.join(ids[:3])}{f' and {len(ids) - 3:,} more' if len(ids) > 3 else ''})"


def settings_table(settings: ReadSettings) -> list[Setting]:
    """Every setting with its values and meaning."""
    flat = [flatten(values) for values in settings.values]
    docs = dict(MEANINGS) if any(map(is_watched, settings.values)) else {}
    for config in {_structure(config): config for config in settings.configs if config}.values():
        docs |= meanings(config)
    rows = []
    for name in dict.fromkeys(name for own in flat for name in own):
        values = list(dict.fromkeys(shown_value(own[name]) for own in flat if name in own))
        more = f", … ({len(values):,} values)" if len(values) > MOST_VALUES else ""
        shown = ", ".join(values[:MOST_VALUES]) + more
        rows.append(Setting(name=name, value=shown, meaning=docs.get(name, "").split("\n")[0]))
    return rows


def _structure(settings: Any) -> tuple[Any, ...]:
    """The classes that a config consists of: they decide its settings and their meanings."""
    return (type(settings), *(_structure(held) for held in settings.components().values()))


def position_names(config: RunConfig) -> tuple[list[str], list[int]]:
    """a, b … for operands where they always stand at the same places, · for distractors, = for the query."""
    if not config.task.knows_informative or not config.model.has_attention:
        return [], []
    return _positions_in(config.task, config.seed_for("data"))


@functools.lru_cache(maxsize=256)
def _positions_in(task: Any, seed: int) -> tuple[list[str], list[int]]:
    """Drawing a split is slow; runs that differ in other settings share theirs."""
    informative = task.split(seed).test.marked
    length = informative.shape[1]
    if bool((informative != informative[0]).any()):
        return [*(f"position {j + 1}" for j in range(length - 1)), "="], []
    operands = informative[0].nonzero().flatten().tolist()
    names, distractors = [], 0
    for j in range(length - 1):
        distractors += j not in operands
        names.append(_letter(operands.index(j)) if j in operands else f"distractor {distractors}")
    return [*names, "="], operands


def _letter(number: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[number] if number < 26 else f"operand {number + 1}"


def versions(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Programs and device of a run."""
    known = {
        name: value for name, value in flatten(manifest).items() if value not in (None, "", []) and name != "created"
    }
    return [(name, ", ".join(map(str, v)) if isinstance(v, list) else str(v)) for name, v in known.items()]
