"""What the shell completes for arguments and options that are names: of experiments, figures and components.

The names are read from the source, where each is given as text: importing what registers them takes seconds, and a key was pressed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

REGISTERED = r'^@{}\.register\(\s*"([^"]+)"'
EXPERIMENT = r'^(?:\w+ = )?experiment\(\s*name="([^"]+)"'
FIGURE = re.compile(r'^@figures\.register\(\s*"([^"]+)"(.*?)^def ', re.MULTILINE | re.DOTALL)
RACE = "race-{}"
"""The experiment of a track."""


def complete(what: str) -> Callable[[str], list[str]]:
    """A function for typer: the names that begin as the word does.

    what   experiments, figures (those that `plot` draws, and movie), or the name of a registry such as tasks
    """

    def begun(incomplete: str) -> list[str]:
        return [name for name in names_of(what) if name.startswith(incomplete)]

    return begun


def complete_among(words: Iterable[str]) -> Callable[[str], list[str]]:
    """The same for words that are known."""

    def begun(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return begun


def names_of(what: str) -> list[str]:
    """All names of a kind, sorted."""
    if what == "experiments":
        races = [RACE.format(track) for track in _found(REGISTERED.format("tracks"))]
        return sorted([*_found(EXPERIMENT), *races])
    if what == "figures":
        drawn = [match for text in _sources() for match in FIGURE.finditer(text)]
        # from the results of experiments, not from runs
        return sorted(["movie", *(m[1] for m in drawn if 'takes="results"' not in m[2] or "needs=" in m[2])])
    return sorted(_found(REGISTERED.format(what)))


def _found(pattern: str) -> list[str]:
    return [name for text in _sources() for name in re.findall(pattern, text, re.MULTILINE)]


@cache
def _sources() -> list[str]:
    return list(_texts(files("grokscope")))


def _texts(folder: Traversable) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _texts(entry)
        elif entry.name.endswith(".py"):
            yield entry.read_text(encoding="utf-8")
