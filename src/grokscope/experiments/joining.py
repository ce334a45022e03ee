"""Stored results and runs that they do not have yet, together: seeds or horizons that an experiment got later.

A stored run stays if the experiment still asks for it, by its id; others are trained. Results that were made in parts name the
commit and the number of runs of each part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..config import RunConfig
from ..config.references import origins
from ..errors import ConfigError, nearest
from ..settings import flatten
from . import diverged
from .clocks import CLOCKS, THRESHOLDS, column_of
from .collect import plain_columns, training_totals
from .frozen import COMMIT, EARLIER, RULES, rule_hashes

if TYPE_CHECKING:
    from ..store.results import Results
    from .base import Experiment

    Asked = Sequence[tuple[str, RunConfig]]

MEASURED_ALIKE = ("seconds_per_epoch", "flops_per_epoch")
"""Columns that belong to an arm and are found anew for all of them."""


def why_not(experiment: Experiment, stored: Results) -> str:
    """Why further runs cannot be added to stored results; empty if they can."""
    if stored.about.get(RULES) != rule_hashes(experiment):
        return "their rules are not the ones of now"
    if experiment.probes:
        return "they have probes, which need the checkpoints of all runs"
    clocks = [
        column_of(clock, threshold, split)
        for clock in CLOCKS
        for threshold in (*THRESHOLDS, *experiment.thresholds)
        for split in ("test", "train")
    ]
    if missing := [name for name in (*clocks, *experiment.collected) if name not in stored.runs]:
        return f"they have no column {missing[0]}"
    return ""


def still_asked(stored: Results, asked: Asked) -> list[tuple[str, RunConfig]]:
    """The runs that are not among the stored ones, and those that they start from."""
    known = set(stored.runs["run"])
    return _with_origins(asked, [config.id for _, config in asked if config.id not in known])


def of_arms(asked: Mapping[str, Asked], pattern: str) -> dict[str, list[tuple[str, RunConfig]]]:
    """Of each experiment, the runs of the arms that match a pattern, and those that they start from; ConfigError if none does."""
    found = {
        name: _with_origins(own, [config.id for arm, config in own if fnmatchcase(arm, pattern)])
        for name, own in asked.items()
    }
    if not any(found.values()):
        every = dict.fromkeys(arm for own in asked.values() for arm, _ in own)
        raise ConfigError("--arms", f"no arm matches {pattern!r}. {nearest(pattern, list(every))}")
    return found


def _with_origins(asked: Asked, ids: Sequence[str]) -> list[tuple[str, RunConfig]]:
    """The runs with these ids, and those that they start from."""
    by_id = {config.id: config for _, config in asked}
    wanted: set[str] = set()

    def want(id: str) -> None:
        if id in by_id and id not in wanted:
            wanted.add(id)
            for origin in origins(by_id[id]):
                want(origin)

    for id in ids:
        want(id)
    return [(arm, config) for arm, config in asked if config.id in wanted]


def joined(stored: Results, new: Results | None, asked: Asked, tried: Collection[str]) -> Results:
    """Both in one, without stored runs that are no longer asked for. A run that both have is the stored one.

    tried   arms that were to be trained: those of them that have no run start from runs that diverged
    """
    arm_of = {config.id: arm for arm, config in asked}
    old = stored.runs[stored.runs["run"].isin(arm_of)].drop(columns=list(MEASURED_ALIKE), errors="ignore")
    parts, curves = [old], [stored.curves[stored.curves["run"].isin(old["run"])]]
    if new is not None:
        fresh = new.runs[~new.runs["run"].isin(old["run"])]
        parts.append(fresh)
        curves.append(new.curves[new.curves["run"].isin(fresh["run"])])
    measured = [{name for name in part if "." not in name} for part in parts if len(part)]
    if differ := sorted(set.union(*measured) - set.intersection(*measured)):
        raise ConfigError("--add", f"column {differ[0]} is in one part of the results alone; run again without it")
    runs = together(parts)
    runs["arm"] = runs["run"].map(arm_of)
    order = {id: at for at, id in enumerate(arm_of)}
    runs = runs.sort_values("run", key=lambda ids: ids.map(order), ignore_index=True)
    about = dict(stored.about if new is None else new.about)
    tried = {*tried, *stored.about.get(diverged.NOT_TRAINED, [])}
    lost = [arm for arm in dict.fromkeys(arm_of.values()) if arm in tried and arm not in set(runs["arm"])]
    about.pop(diverged.NOT_TRAINED, None)
    about.pop(EARLIER, None)
    earlier = _earlier_parts(stored.about, len(stored.runs), len(old), about)
    about |= training_totals(runs) | ({EARLIER: earlier} if earlier else {})
    about |= {diverged.NOT_TRAINED: lost} if lost else {}
    return stored._replace(about=about, runs=runs, curves=pd.concat(curves, ignore_index=True))


def _earlier_parts(about: Mapping[str, Any], runs: int, kept: int, now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts that stored results were made in, each with its number of runs, apart from what was made as the newest part is.

    about   of the stored results
    runs    how many they have
    kept    how many of them stay; it is not known of which part the others are, and the earliest are taken to go
    now     about of the newest part
    """
    earlier = about.get(EARLIER, [])
    last = _made(about) | {"runs": runs - sum(part["runs"] for part in earlier)}
    lost, parts = runs - kept, []
    for part in (*earlier, last):
        gone = min(lost, part["runs"])
        lost -= gone
        parts.append({**part, "runs": part["runs"] - gone})
    return [part for part in parts if part["runs"] and _made(part) != _made(now)]


def _made(about: Mapping[str, Any]) -> dict[str, Any]:
    """What names a part: commit, version and device."""
    return {name: about.get(name, "") for name in (COMMIT, "version", "device")}


def together(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One table of runs. A setting that a part leaves out has its default there, or none in runs that do not have it."""
    parts = [part for part in parts if len(part)]
    names = list(dict.fromkeys(name for part in parts for name in part))
    kinds_first = sorted((name for name in names if "." in name), key=lambda name: not name.endswith(".kind"))
    return plain_columns(pd.concat([_with_defaults(part, kinds_first) for part in parts], ignore_index=True))


def _with_defaults(part: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """names   settings, those that name the kind of a component first"""
    usual: dict[str, Any] = flatten(RunConfig().to_dict())
    for name in names:
        if name in part:
            continue
        kind = f"{name.partition('.')[0]}.kind"
        have = [True] * len(part) if kind == name or kind not in part else (part[kind] == usual[kind]).tolist()
        part = part.assign(**{name: [usual.get(name) if own else None for own in have]})
    return part
