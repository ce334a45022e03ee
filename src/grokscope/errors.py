"""Errors for the user: one line, what is wrong and why. The CLI prints them without a traceback and exits with 2."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from typing import Any


class GrokscopeError(Exception):
    """Anything a user can correct."""


class ConfigError(GrokscopeError):
    """An invalid setting; `field` is its dotted name, e.g. ``task.p``."""

    def __init__(self, field: str, problem: str):
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str, str]]:
        """How it comes back from another process."""
        return type(self), (self.field, self.problem)


@contextmanager
def within(component: str) -> Iterator[None]:
    """A ConfigError raised inside names its field from the config that holds `component`."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{component}.{error.field}", error.problem) from None


class StoreError(GrokscopeError):
    """A run folder that cannot be read, written or locked; the message names the file."""


class BusyError(StoreError):
    """Another process trains the run."""


class LostLeaseError(BusyError):
    """Another process took the run over while this one was paused."""


class ResultsChangedError(StoreError):
    """Another process has stored results of the experiment meanwhile."""


LONGEST = 80
"""Characters of a text that a message quotes."""
MOST_ITEMS = 4
"""Items of a list or table that a message quotes, and how deep."""


MOST_CHOICES = 40
"""Valid names that a message lists; of more it lists the nearest."""
NEAREST = 5


def shown(value: Any, depth: int = 0) -> str:
    """`value` as Python would write it, on one line and shortened: for messages about values of any size, depth and content."""
    if isinstance(value, str):
        return repr(value) if len(value) <= LONGEST else f"{value[:LONGEST]!r}… ({len(value):,} characters)"
    if isinstance(value, int) and value.bit_length() > 256:  # longer ones cannot even be printed
        return f"an integer of about {value.bit_length() * 3 // 10:,} digits"
    if isinstance(value, (Mapping, list, tuple)):
        if depth == MOST_ITEMS:
            return "…"
        items = [
            f"{shown(key, depth + 1)}: {shown(value[key], depth + 1)}"
            if isinstance(value, Mapping)
            else shown(key, depth + 1)
            for key in islice(value, MOST_ITEMS)
        ]
        begin, end = "{}" if isinstance(value, Mapping) else "[]" if isinstance(value, list) else "()"
        return f"{begin}{', '.join([*items, '…'] if len(value) > MOST_ITEMS else items)}{end}"
    return repr(value)


def named(word: Any) -> str:
    """The name of a setting as a user wrote it; quoted if it would not fit on a line."""
    return word if isinstance(word, str) and word.isprintable() and len(word) <= LONGEST else shown(word)


def nearest(word: str, choices: Iterable[str]) -> str:
    """A hint for an unknown name: the closest valid one; when none is close all of them, or the nearest of many."""
    choices, word = sorted(choices), word[:LONGEST]
    if not choices:
        return "There are none."
    close = get_close_matches(word, choices, n=1, cutoff=0.5) or [c for c in choices if c.endswith(word)][:1]
    if close:
        return f"Did you mean {close[0]}?"
    if len(choices) > MOST_CHOICES:
        some = get_close_matches(word, choices, n=NEAREST, cutoff=0.0)
        return f"The nearest of {len(choices)} are {', '.join(some)}."
    return f"Choose from: {', '.join(choices)}."


def nearest_setting(word: str, known: Iterable[str]) -> str:
    """A hint for an unknown setting, which may have been written without its component: optim.lr for `lr`."""
    places: dict[str, list[str]] = {}
    for name in sorted(set(known)):
        whole = name.removesuffix(".kind")
        for written in {whole, whole.rpartition(".")[2]}:
            places.setdefault(written, []).append(whole)
    close = [word] if word in places else get_close_matches(word[:LONGEST], places, n=1, cutoff=0.5)
    if close and len(meant := places[close[0]]) <= MOST_ITEMS:
        return f"Did you mean {' or '.join(dict.fromkeys(meant))}?"
    return nearest(word, {whole for names in places.values() for whole in names})


def require_arguments(function: Callable[..., object], field: str, *names: str) -> None:
    """Raise ConfigError if user code lacks required arguments, before anything is trained."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    missing = [name for name in names if name not in parameters]
    if missing:
        raise ConfigError(
            field,
            f"{function.__qualname__} does not take {' and '.join(missing)}, passed as a keyword argument",
        )
