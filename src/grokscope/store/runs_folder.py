"""Whether a path is a folder of runs, and where the nearest one is if it does not exist."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from pathlib import Path

from ..errors import StoreError, nearest
from .layout import CONFIG, MANIFEST, STATE

BESIDE, INSIDE, NAMED = 200, 20, 4
"""Most folders that are searched for runs, most entries of each that are looked at, and most folders that are named."""


def is_run(path: Path) -> bool:
    """Whether a folder has any file of a run; not so if it was deleted meanwhile."""
    return any(os.path.lexists(path / name) for name in (CONFIG, MANIFEST, STATE))


def check_runs_folder(folder: Path) -> None:
    """Raise StoreError if it cannot be a folder of runs."""
    if not folder.exists():
        what = "a link to a folder that does not exist" if folder.is_symlink() else "no such folder of runs"
        raise StoreError(f"{folder}: {what}{nearest_folder(folder)}")
    if not folder.is_dir():
        raise StoreError(f"{folder}: not a folder of runs, but a file")
    if (folder / MANIFEST).exists():
        raise StoreError(f"{folder}: a run, not a folder of runs; give the folder above it")


def nearest_folder(folder: Path) -> str:
    """`. Did you mean demo/runs?` for a folder that does not exist; empty if there are no runs beside it, or beside the first
    folder of its path that does not exist."""
    found = []
    above = next((path for path in folder.parents if path.exists()), folder.parent)
    for path in islice(_folders(above), BESIDE):
        found += [one for one in (path, path / "runs") if any(map(is_run, islice(_folders(one), INSIDE)))]
    if not found:
        return ""
    return f". {nearest(str(folder), sorted(map(str, found))[:NAMED])}"


def _folders(path: Path) -> list[Path]:
    with suppress(OSError), os.scandir(path) as entries:
        return [path / entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    return []
