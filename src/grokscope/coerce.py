"""Conversion of plain values (JSON, TOML, command line) to the annotated type of a setting."""

from __future__ import annotations

import math
import operator
import types
import unicodedata
from contextlib import suppress
from typing import Any, Literal, Union, get_args, get_origin

from .errors import LONGEST, ConfigError, nearest, shown

LARGEST = 2**63 - 1
"""Largest integer of a setting: that of a tensor's size."""


def coerce(field: str, hint: Any, value: Any) -> Any:
    """`value` as the annotated type `hint`; ConfigError names the `field` if it cannot be converted."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _first_that_fits(field, args, value)
    if origin is Literal:
        if value in args:
            return value
        word = value if isinstance(value, str) else shown(value)
        raise ConfigError(field, f"{shown(value)} is not a valid choice. {nearest(word, map(str, args))}")
    if origin is tuple:
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)):
            items = [items]
        return tuple(coerce(field, args[0], item) for item in items)
    if hint is type(None):
        if value is None or value in ("none", "None", ""):
            return None
        raise ConfigError(field, f"{shown(value)} is not none")
    if hint is bool:
        if isinstance(value, bool) or value in ("true", "false"):
            return value is True or value == "true"
        raise ConfigError(field, f"{shown(value)} is neither true nor false")
    if hint is int:
        return _integer(field, value)
    if hint is float:
        return _real(field, value)
    return _text(field, value)


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError(field, f"{shown(value)} is not a string")
    # control characters and lone surrogates: no name, id or path has them, and files cannot be opened or written with them
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise ConfigError(field, f"{shown(value)} contains a control character or a lone surrogate")
    return value


def _first_that_fits(field: str, hints: tuple[Any, ...], value: Any) -> Any:
    problems = []
    for hint in hints:
        try:
            return coerce(field, hint, value)
        except ConfigError as error:
            problems.append(error.problem)
    raise ConfigError(field, "; ".join(problems))


def _integer(field: str, value: Any) -> int:
    """An integer, or a number or text that stands for one, such as 1e4."""
    number: Any = None if isinstance(value, bool) else value
    with suppress(TypeError):
        number = operator.index(number)  # also NumPy's integers
    if isinstance(value, str):
        try:
            number = int(value) if value.lstrip("+-").isdecimal() and len(value) <= LONGEST else float(value)
        except ValueError:
            number = None
    if isinstance(number, float):
        number = int(number) if number.is_integer() else None
    if not isinstance(number, int):
        raise ConfigError(field, f"{shown(value)} is not an integer")
    if abs(number) > LARGEST:
        raise ConfigError(field, f"{shown(value)} is too large; the largest integer is 2⁶³ − 1")
    return number


def _real(field: str, value: Any) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
    except (TypeError, ValueError):
        raise ConfigError(field, f"{shown(value)} is not a number") from None
    except OverflowError:
        raise ConfigError(field, f"{shown(value)} is too large for a floating-point number") from None
    if not math.isfinite(number):
        raise ConfigError(field, f"{shown(value)} is not finite")
    return number
