"""Frozen, keyword-only settings: read from plain dicts with clear errors, written to plain dicts, equal after a round trip."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

from .errors import ConfigError, nearest

S = TypeVar("S", bound="Settings")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of every room's config.

    A subclass lists its fields with defaults and a docstring each, derives the rest as properties,
    and says in `check` what cannot be. Fields named in `LANES` are numbers that may differ between runs
    trained side by side: inside the fleet they are scalar tensors, so arithmetic on them must be torch's.
    """

    kind: ClassVar[str] = ""
    LANES: ClassVar[tuple[str, ...]] = ()
    HOST: ClassVar[tuple[str, ...]] = ()
    """Fields that shape only a run's data or initial weights: they too may differ between neighbours."""

    def check(self) -> Any:
        """Raise ConfigError(field, why) for a setting that cannot be."""

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"kind": self.kind} if self.kind else {}
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            plain[f.name] = list(value) if isinstance(value, tuple) else value
        return plain

    def lane_values(self) -> dict[str, float]:
        """The `LANES` fields as numbers; a choice of words becomes its place in the list of choices."""
        hints = _hints(type(self))  # type: ignore[arg-type]
        values = {}
        for name in self.LANES:
            value = getattr(self, name)
            values[name] = float(get_args(hints[name]).index(value) if isinstance(value, str) else value)
        return values

    def structure(self) -> dict[str, Any]:
        """What runs must have in common to train side by side."""
        return {name: value for name, value in self.to_dict().items() if name not in (*self.LANES, *self.HOST)}

    @classmethod
    def from_dict(cls: type[S], plain: dict[str, Any], *, room: str = "") -> S:
        """Settings from plain values; `room` is where they stand in a larger config, for error messages."""
        prefix = f"{room}." if room else ""
        hints = _hints(cls)  # type: ignore[arg-type]
        names = [f.name for f in dataclasses.fields(cls)]
        values = {}
        for key, value in plain.items():
            if key == "kind":
                continue
            if key not in names:
                raise ConfigError(
                    prefix + key, f"no such setting. {nearest(prefix + key, [prefix + n for n in names])}"
                )
            values[key] = coerce(prefix + key, hints[key], value)
        return cls(**values)


@functools.cache
def _hints(settings: Any) -> dict[str, Any]:
    """The fields' types of a class of settings; looking them up takes longer than all the rest."""
    return typing.get_type_hints(settings)


def coerce(field: str, hint: Any, value: Any) -> Any:
    """`value` as the annotated type, from JSON, TOML or a word typed on the command line."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _first_that_fits(field, args, value)
    if origin is Literal:
        if value in args:
            return value
        raise ConfigError(field, f"{value!r} is not possible. {nearest(str(value), map(str, args))}")
    if origin is tuple:
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)):
            items = [items]
        return tuple(coerce(field, args[0], item) for item in items)
    if hint is type(None):
        if value is None or value in ("none", "None", ""):
            return None
        raise ConfigError(field, f"{value!r} is not none")
    if hint is bool:
        if isinstance(value, bool) or value in ("true", "false"):
            return value is True or value == "true"
        raise ConfigError(field, f"{value!r} is neither true nor false")
    if hint is int:
        return _integer(field, value)
    if hint is float:
        return _real(field, value)
    if isinstance(value, str):
        return value
    raise ConfigError(field, f"{value!r} is not a word")


def _first_that_fits(field: str, hints: tuple[Any, ...], value: Any) -> Any:
    problems = []
    for hint in hints:
        try:
            return coerce(field, hint, value)
        except ConfigError as error:
            problems.append(error.problem)
    raise ConfigError(field, "; ".join(problems))


def _integer(field: str, value: Any) -> int:
    try:
        number = float(value)
        if isinstance(value, bool) or not number.is_integer():
            raise ValueError
        return int(value) if isinstance(value, (int, str)) and str(value).lstrip("+-").isdigit() else int(number)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(field, f"{value!r} is not a whole number") from None


def _real(field: str, value: Any) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
    except (TypeError, ValueError):
        raise ConfigError(field, f"{value!r} is not a number") from None
    if not math.isfinite(number):
        raise ConfigError(field, f"{value!r} is not finite")
    return number


def require(condition: bool, field: str, problem: str) -> None:
    """The one-line form of a check."""
    if not condition:
        raise ConfigError(field, problem)


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"task": {"p": 97}} → {"task.p": 97}"""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        flat |= flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat
