"""Atomic creation of a run folder: it is built and locked under a hidden name, then moved into place.

No process ever sees an incomplete run folder, and its creator holds the lock without a gap.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

from ..errors import StoreError
from .disk import cannot_write, make_folder, remove, sync_folder, write
from .layout import CHECKPOINTS, CONFIG, DRAFT, MANIFEST, METRICS, STATE, label, leftovers
from .lock import Lock
from .seal import sealed_json
from .state import State


def create(run: Path, config: dict[str, Any], manifest: dict[str, Any]) -> Lock | None:
    """Create the folder `run` and return its lock, or None if another process created it in the meantime."""
    # The same hidden name for every attempt, so that the next attempt reuses what a killed one has left.
    draft = run.with_name(f"{DRAFT}{run.name}")
    make_folder(draft)
    try:
        lock = Lock.take(draft, run.name)
    except FileNotFoundError:
        return None
    if not lock.is_in(draft):
        lock.release()
        return None
    made = False
    try:
        _fill(draft, config, manifest)
        lock.lease.check()
        os.replace(draft, run)
        lock.lease.move(run)
        sync_folder(run.parent)
        made = True
    except StoreError:
        lock.lease.check()
        _discard(draft, lock)
        raise
    except OSError as error:
        lock.lease.check()
        _discard(draft, lock)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return None
        raise cannot_write(run, error) from error
    finally:
        if not made:
            lock.release()
    return lock


def _discard(draft: Path, lock: Lock) -> None:
    if not lock.lease.lost:  # else another process fills it
        shutil.rmtree(draft, ignore_errors=True)


def _fill(draft: Path, config: dict[str, Any], manifest: dict[str, Any]) -> None:
    for path in leftovers(draft):
        remove(path)
    for name in (METRICS, CHECKPOINTS):
        make_folder(draft / name)
    for name, content in ((CONFIG, config), (MANIFEST, manifest), (STATE, State().to_dict())):
        write(draft / name, sealed_json(content, label(draft / name)))
