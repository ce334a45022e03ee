"""Conversion of plain values (JSON, TOML, command line) to the annotated type of a setting."""

from __future__ import annotations

import math
import types
from typing import Any, Literal, Union, get_args, get_origin

from .errors import ConfigError, nearest


def coerce(field: str, hint: Any, value: Any) -> Any:
    """`value` as the annotated type `hint`; ConfigError names the `field` if it cannot be converted."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _first_that_fits(field, args, value)
    if origin is Literal:
        if value in args:
            return value
        raise ConfigError(field, f"{value!r} is not a valid choice. {nearest(str(value), map(str, args))}")
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
    raise ConfigError(field, f"{value!r} is not a string")


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
        raise ConfigError(field, f"{value!r} is not an integer") from None


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
