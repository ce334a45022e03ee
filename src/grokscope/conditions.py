"""Arms: what distinguishes groups of runs, seeds aside, as settings and as short names.

A name states only what differs, in at most `LONGEST` characters; the settings behind it belong in a table beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import ConfigError, nearest_setting
from .settings import flatten

SILENT = ("seed", "data_seed", "init_seed", "order_seed", "exact", "log.every", "log.dense", "log.keep")
"""Settings that do not define an arm: repetitions, and when a run is evaluated."""
LONGEST = 30
"""Characters of an arm's name."""
SYMBOLS = {"beta": "β", "weight_decay": "decay", "train_fraction": "fraction"}
ONLY = "all runs"
"""The name of the arm where runs do not differ."""
TYPICAL = "baseline"
"""The name of an arm with the most common value of every setting."""
_ABSENT = object()


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The arms of some runs."""

    names: list[str]
    """The arm of each run, in the order of the runs."""
    settings: dict[str, dict[str, Any]]
    """The settings in which the arms differ, by arm; arms in the order of their values."""
    pooled: list[str]
    """Settings that differ within arms, since others were asked for."""

    def order(self) -> list[int]:
        """The places of the runs sorted by arm."""
        rank = {arm: number for number, arm in enumerate(self.settings)}
        return sorted(range(len(self.names)), key=lambda at: rank[self.names[at]])

    @property
    def columns(self) -> list[str]:
        """The settings in which the arms differ."""
        return list(dict.fromkeys(name for own in self.settings.values() for name in own))


def arms_of(configs: Sequence[Mapping[str, Any]], by: Sequence[str] = ()) -> Arms:
    """The arms of runs with these configs.

    by   the settings that distinguish arms, by dotted name; by default all in which the runs differ
    """
    whole = [flatten(config) for config in configs]
    flat = effective_settings(whole)
    differ = _differing(flat)
    told, pooled = _relevant(flat, differ), list[str]()
    if by:
        chosen = [resolve(name, {key for own in (*whole, *flat) for key in own}) for name in by]
        pooled = [name for name in dict.fromkeys(name for own in told for name in own) if name not in chosen]
        every = [{**before, **own} for before, own in zip(whole, flat, strict=True)]  # a seed may be asked for
        told = [{name: own[name] for name in chosen if name in own} for own in every]
        differ = chosen
    groups: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
    for own in told:
        groups.setdefault(_key(own), own)
    ordered = sorted(groups, key=_order(groups, differ))
    named = dict(zip(ordered, short_names([groups[key] for key in ordered]), strict=True))
    return Arms(
        names=[named[_key(own)] for own in told],
        settings={named[key]: groups[key] for key in ordered},
        pooled=pooled,
    )


def resolve(name: str, known: Iterable[str]) -> str:
    """The dotted name of a setting: `prior` stands for prior.kind, and a last part such as `beta` for the only one that ends so."""
    known = set(known)
    if name in known:
        return name
    if f"{name}.kind" in known:
        return f"{name}.kind"
    ending = sorted(key for key in known if key.endswith(f".{name}"))
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise ConfigError(name, f"is ambiguous: {', '.join(ending)}")
    raise ConfigError(name, f"no such setting. {nearest_setting(name, known)}")


def short_keys(names: Sequence[str]) -> dict[str, str]:
    """A short name for each setting: its last part where no other ends so, and the component where it is a kind."""
    last = Counter(_last(name) for name in names)
    return {name: _last(name) if last[_last(name)] == 1 else name.removesuffix(".kind") for name in names}


def short_names(arms: Sequence[Mapping[str, Any]]) -> list[str]:
    """A distinct name for each arm, given by its settings: all of them if they fit, else those that are not the most common."""
    if len(arms) < 2:
        return [ONLY] * len(arms)
    keys = short_keys(list(dict.fromkeys(name for own in arms for name in own)))
    common = {name: Counter(str(own.get(name)) for own in arms).most_common(1)[0][0] for name in keys}
    names = []
    for own in arms:
        unusual = {name: value for name, value in own.items() if str(value) != common[name]}
        candidates = [_text(own, keys), _text(own, keys, bare=True)]
        candidates += [_text(unusual, keys) or TYPICAL, _text(unusual, keys, bare=True) or TYPICAL]
        candidates.append(candidates[-1].replace(" = ", "="))
        names.append(next((text for text in candidates if text and len(text) <= LONGEST), candidates[-1]))
    return _distinct([name if len(name) <= LONGEST else f"{name[: LONGEST - 1].rstrip(' ,=')}…" for name in names])


def _text(settings: Mapping[str, Any], keys: Mapping[str, str], *, bare: bool = False) -> str:
    """bare   words without the name of their setting"""
    parts = []
    for name, value in settings.items():
        key = SYMBOLS.get(keys[name], keys[name])
        if name == "prior.beta" and not value:
            parts.append("no prior")
        elif name.endswith(".kind"):
            parts.append(f"no {key}" if value == "none" else str(value))
        elif isinstance(value, bool):
            parts.append(key if value else f"no {key}")
        elif isinstance(value, str) and bare and value:
            parts.append(value)
        else:
            parts.append(f"{key} = {shown_value(value)}")
    return ", ".join(parts)


def shown_value(value: Any) -> str:
    """A setting's value in a name or a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value)) or "–"
    return "–" if value in (None, "") else str(value)


def _last(name: str) -> str:
    """`prior.beta` → beta, `prior.kind` → prior, `model.attention.kind` → attention"""
    return name.removesuffix(".kind").rsplit(".", 1)[-1]


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, with a number where several are equal."""
    count, seen, found = Counter(names), Counter[str](), []
    for name in names:
        seen[name] += 1
        mark = f" ({seen[name]})"
        found.append(name if count[name] == 1 else f"{name[: LONGEST - len(mark)]}{mark}")
    return found


def effective_settings(flat: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The settings that have an effect: at strength 0 the others of a prior have none."""
    guided = {str(own.get("prior.kind")) for own in flat if own.get("prior.beta")}
    idle = guided.pop() if len(guided) == 1 else "none"
    found = []
    for settings in flat:
        kept = {name: value for name, value in settings.items() if name not in SILENT}
        if "prior.beta" in kept and not kept["prior.beta"]:
            kept = {name: value for name, value in kept.items() if not name.startswith("prior.")}
            kept |= {"prior.kind": idle, "prior.beta": 0.0}
        found.append(kept)
    return found


def _differing(flat: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings that do not have one value in all runs; kinds of components first."""
    names = dict.fromkeys(name for own in flat for name in own)
    differ = [name for name in names if len({str(own.get(name, _ABSENT)) for own in flat}) > 1]
    return sorted(differ, key=lambda name: not name.endswith(".kind"))


def _relevant(flat: Sequence[Mapping[str, Any]], differ: Sequence[str]) -> list[dict[str, Any]]:
    """What distinguishes each run: the kinds of its components, and settings that vary among runs with the same kinds. That a
    parity task has other settings than addition follows from the kind."""
    told: list[dict[str, Any]] = [{} for _ in flat]
    for name in differ:
        owners = [".".join(name.split(".")[:depth]) for depth in range(1, name.count(".") + 1)]
        owners = [f"{owner}.kind" for owner in owners if f"{owner}.kind" != name]
        values: dict[tuple[str, ...], set[str]] = {}
        groups = [tuple(str(own.get(owner)) for owner in owners) for own in flat]
        for own, group in zip(flat, groups, strict=True):
            if name in own:
                values.setdefault(group, set()).add(str(own[name]))
        for shown, own, group in zip(told, flat, groups, strict=True):
            if name in own and len(values[group]) > 1:
                shown[name] = own[name]
    return told


def _key(settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in settings.items())


def _order(groups: Mapping[Any, Mapping[str, Any]], names: Sequence[str]) -> Callable[[Any], Any]:
    """A key to sort arms by their values: kinds of components in their order, numbers by size."""
    kinds = {
        name: list(dict.fromkeys(str(own.get(name)) for own in groups.values()))
        for name in names
        if name.endswith(".kind")
    }

    def rank(key: Any) -> list[Any]:
        own = groups[key]
        return [kinds[name].index(str(own.get(name))) if name in kinds else _rank(own.get(name)) for name in names]

    return rank


def _rank(value: Any) -> tuple[int, float, str]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (0, float(value), "")
    return (-1 if value is None else 1, 0.0, str(value))
