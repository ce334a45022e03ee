"""Deletion of run folders: only runs, and only while no process trains them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from ..errors import StoreError
from .disk import is_temporary, listing, reason, sync_folder
from .layout import ADDED, ASIDE, CHECKPOINTS, CONFIG, LEASE, LOCK, MANIFEST, METRICS, STATE, TAGS
from .lock import Lock, is_held

OURS = {CONFIG, MANIFEST, STATE, TAGS, METRICS, ADDED, CHECKPOINTS, LOCK, ASIDE}


def delete_runs(paths: Iterable[Path]) -> int:
    """Delete these run folders and return their number; folders that do not exist are skipped.

    StoreError, and nothing deleted, when one of them is being trained or holds files that are not a run's.
    """
    found = [path for path in paths if path.exists() or path.is_symlink()]
    for path in found:
        _check(path)
    for number, path in enumerate(found):
        try:
            _delete(path)
        except StoreError as error:
            raise StoreError(f"{error}; {number} of {len(found)} runs were deleted before") from error
    return len(found)


def _check(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        raise StoreError(f"{path}: not a folder; nothing was deleted")
    foreign = sorted(file.name for file in listing(path) if not _is_ours(file))
    if foreign:
        raise StoreError(f"{path}: holds {foreign[0]}, which is not part of a run; nothing was deleted")
    if is_held(path):
        raise StoreError(f"run {path.name} is being trained; nothing was deleted")


def _is_ours(file: Path) -> bool:
    return file.name in OURS or file.name.startswith(LEASE) or is_temporary(file)


def _delete(path: Path) -> None:
    """Move the folder to a hidden name first: no process ever sees a partial run."""
    aside = path.with_name(f".old-{path.name}")
    try:
        lock = Lock.take(path, path.name)
    except FileNotFoundError:
        return  # another process deleted it
    try:
        if aside.exists():  # left by a deletion that was killed
            shutil.rmtree(aside)
        os.replace(path, aside)
        sync_folder(path.parent)
        shutil.rmtree(aside)
    except OSError as error:
        raise StoreError(f"{path}: cannot be deleted ({reason(error)})") from error
    finally:
        lock.release()
