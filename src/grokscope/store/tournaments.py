"""Tournaments of searches: <runs>/search-<id>/tournament.json, sealed. It holds what was measured of candidates that are not stored
as runs: a search that was killed is continued from it, and the file is written anew."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import StoreError
from .disk import listing, make_folder, write
from .seal import plain_json, read_sealed_json, sealed_json_list

__all__ = ["has_tournament", "load_tournament", "plain_json", "save_tournament", "tournament_folder"]

FILE = "tournament.json"
PREFIX = "search-"


def tournament_folder(runs: str | Path, id: str) -> Path:
    return Path(runs) / f"{PREFIX}{id}"


def save_tournament(runs: str | Path, id: str, content: dict[str, Any], candidates: Iterable[str]) -> Path:
    """Write the state of a search; returns its folder.

    candidates   each as JSON (`plain_json`): most do not change between two saves, and need not be encoded again
    """
    folder = tournament_folder(runs, id)
    make_folder(folder)
    write(folder / FILE, sealed_json_list(content, "tournament", candidates, _label(folder)))
    return folder


def has_tournament(runs: str | Path, id: str) -> bool:
    return (tournament_folder(runs, id) / FILE).exists()


def load_tournament(runs: str | Path, id: str) -> dict[str, Any]:
    """The stored state of a search, verified; StoreError if there is none."""
    folder = tournament_folder(runs, id)
    if not (folder / FILE).exists():
        known = ", ".join(sorted(path.name.removeprefix(PREFIX) for path in listing(Path(runs)) if _holds(path)))
        raise StoreError(f"no search {id} in {runs}" + (f"; there are {known}" if known else ""))
    return read_sealed_json(folder / FILE, _label(folder))


def _holds(path: Path) -> bool:
    return path.name.startswith(PREFIX) and (path / FILE).exists()


def _label(folder: Path) -> str:
    return f"search {folder.name}/{FILE}"
