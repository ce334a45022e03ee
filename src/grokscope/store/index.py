"""An index of finished runs, so that listing tens of thousands of them takes a second: `<runs>/.index.json`.

It holds what `read_run` gave, for as long as the run's three JSON files are the same ones (inode, size, time of change). Settings
that runs share are stored once. It is only ever a shortcut: written by readers, in folders with many runs, and ignored if it cannot
be read; runs that are not finished are never in it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import StoreError
from .disk import read, write
from .layout import CONFIG, INDEX, MANIFEST, STATE
from .seal import is_sealed, parse_json, sealed

VERSION = 1
MANY = 500
"""Runs from which on there is an index."""
NEW = 0.05
"""Fraction of runs that are not in the index, from which on it is written again."""
LABEL = "index of runs"

Key = list[int]
"""Inode, size and time of change of the files of a run."""


class Entry(NamedTuple):
    """What the index says about a run."""

    status: str
    config: dict[str, Any]
    manifest: dict[str, Any]
    epoch: int
    seconds: float
    summary: dict[str, Any]


class Index:
    """The index of one folder."""

    def __init__(self, folder: Path, runs: int):
        """runs   number of runs in the folder"""
        self.folder, self.many = folder, runs >= MANY
        self._parts: list[Any] = []
        self._known: dict[str, list[Any]] = {}
        self._added: dict[str, tuple[Key, Entry]] = {}
        self._used: set[str] = set()
        if self.many:
            with contextlib.suppress(StoreError, ValueError, KeyError, TypeError):
                self._load()

    def get(self, id: str) -> Entry | None:
        """A finished run as it was read before; None if it is not known, or has changed since."""
        known = self._known.get(id)
        if known is None or known[0] != key_of(f"{self.folder}{os.sep}{id}"):
            return None
        try:
            _, status, config, manifest, epoch, seconds, summary, created = known
            whole = self._part(manifest) | {"created": created}
            entry = Entry(status, self._part(config), whole, epoch, seconds, self._part(summary))
        except (ValueError, IndexError, TypeError):
            return None
        self._used.add(id)
        return entry

    def add(self, id: str, key: Key | None, entry: Entry) -> None:
        """Note a finished run.

        key   `key_of` the run before it was read
        """
        if self.many and key is not None:
            self._added[id] = (key, entry)

    def save(self) -> None:
        """Write the index if enough has changed. A folder that cannot be written is not an error."""
        if len(self._added) <= NEW * (len(self._used) + len(self._added)):
            return
        runs = {id: (self._known[id][0], entry) for id in self._used if (entry := self.get(id)) is not None}
        with contextlib.suppress(StoreError, ValueError):
            write(self.folder / INDEX, _encode(runs | self._added))

    def _load(self) -> None:
        content = read(self.folder / INDEX)
        plain = parse_json(self.folder / INDEX, content)
        if is_sealed(content, LABEL) and plain["version"] == VERSION:
            self._parts, self._known = plain["parts"], plain["runs"]

    def _part(self, table: Mapping[str, int]) -> dict[str, Any]:
        """A table whose values were replaced by their places in the list of parts."""
        return {name: self._parts[place] for name, place in table.items()}


def key_of(run: str | Path) -> Key | None:
    """What identifies the JSON files of a run without reading them; None if one is missing."""
    try:
        found = [os.stat(f"{run}{os.sep}{name}") for name in (STATE, CONFIG, MANIFEST)]
    except OSError:
        return None
    return [number for one in found for number in (one.st_ino, one.st_size, one.st_mtime_ns)]


def _encode(runs: Mapping[str, tuple[Key, Entry]]) -> bytes:
    places: dict[str, int] = {}

    def table(plain: Mapping[str, Any]) -> dict[str, int]:
        return {name: places.setdefault(json.dumps(value), len(places)) for name, value in plain.items()}

    rows = {}
    for id, (key, entry) in runs.items():
        manifest = {name: value for name, value in entry.manifest.items() if name != "created"}
        rows[id] = [
            key,
            entry.status,
            table(entry.config),
            table(manifest),
            entry.epoch,
            entry.seconds,
            table(entry.summary),
            entry.manifest.get("created", ""),
        ]
    parts = f"[{','.join(places)}]"
    text = f'{{"version": {VERSION}, "parts": {parts}, "runs": {json.dumps(rows)}, "checksum": "crc32=00000000"}}'
    return sealed(text.encode(), LABEL)
