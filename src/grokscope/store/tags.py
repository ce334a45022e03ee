"""The name and the tags that a user gave to a run, in a file of its own beside the config: they are not part of the run's identity.

A run without the file has neither. A damaged file costs the name, not the run: `read_tags` then returns neither, and `check` names
the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..errors import ConfigError, StoreError, shown
from .disk import DamageError, damaged, write
from .layout import TAGS, label, run_file
from .seal import read_sealed_json, sealed_json

LONGEST = 60
"""Characters of a name or tag."""


class Tags(NamedTuple):
    """What a user calls a run."""

    name: str = ""
    tags: tuple[str, ...] = ()


def read_tags(run: Path) -> Tags:
    """Name and tags of a run; empty if it has none, or if the file is damaged."""
    if not os.path.lexists(run_file(run, TAGS)[0]):  # thousands of runs are listed, and most have none
        return Tags()
    try:
        return verified_tags(run)
    except StoreError:
        return Tags()


def verified_tags(run: Path) -> Tags:
    """The same; StoreError for a damaged file."""
    path, sealed_as = run_file(run, TAGS)
    try:
        plain = read_sealed_json(path, sealed_as)
    except DamageError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return Tags()
        raise
    name, tags = plain.get("name", ""), plain.get("tags", [])
    if not isinstance(name, str) or not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise damaged(path, "the name is not a string, or the tags are not strings")
    return Tags(name, tuple(tags))


def write_tags(run: Path, *, name: str | None = None, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Tags:
    """Change the name and tags of a run and return them.

    name   the new name, empty for none; None keeps the present one
    """
    before, gone = read_tags(run), set(remove)
    if name is not None:
        check_word("name", name, empty=True)
    tags = tuple(sorted({*before.tags, *(check_word("tag", tag) for tag in add)} - gone))
    now = Tags(before.name if name is None else name, tags)
    if now != before:
        path = run / TAGS
        write(path, sealed_json({"name": now.name, "tags": list(now.tags)}, label(path)))
    return now


def check_word(field: str, word: str, *, empty: bool = False) -> str:
    """A name or tag, verified: one line, not too long, and without a comma, which separates tags in a table."""
    if not word.strip() and not (empty and not word):
        raise ConfigError(field, "is empty")
    if len(word) > LONGEST:
        raise ConfigError(field, f"{shown(word)} is longer than {LONGEST} characters")
    if not word.isprintable() or "," in word or word != word.strip():
        raise ConfigError(field, f"{shown(word)} has a comma, a line break, or spaces at its ends")
    return word
