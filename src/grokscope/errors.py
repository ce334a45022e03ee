"""Errors for the user: one line, what is wrong and why. The CLI prints them without a traceback and exits with 2."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class GrokscopeError(Exception):
    """Anything a user can correct."""


class ConfigError(GrokscopeError):
    """An invalid setting; `field` is its dotted name, e.g. ``task.p``."""

    def __init__(self, field: str, problem: str):
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


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


def nearest(word: str, choices: Iterable[str]) -> str:
    """A hint for an unknown name: the closest valid one, or all of them when none is close."""
    choices = sorted(choices)
    close = get_close_matches(word, choices, n=1, cutoff=0.5) or [c for c in choices if c.endswith(word)][:1]
    return f"Did you mean {close[0]}?" if close else f"Choose from: {', '.join(choices)}."


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
