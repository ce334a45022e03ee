"""Damaged files are moved aside into a hidden folder of their run, not deleted, and only by the process that holds its lease.

The file is renamed into the lease folder first: that fails, and changes nothing, in a process that has lost the lease. If the
process ends before the second rename, the next holder makes it.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import StoreError
from .disk import make_folder, reason, sync_folder
from .layout import ASIDE

HELD = "aside-"
"""How the name of a file in a lease folder begins that is on its way."""


def move_aside(lease: Path, path: Path) -> Path:
    """Move a file of a run into its hidden folder; an earlier file of that name there is kept too.

    lease   the lease folder of this process
    """
    held = lease / f"{HELD}{path.name}"
    try:
        os.rename(path, held)
        sync_folder(path.parent)
        return finish_move(held)
    except OSError as error:
        raise StoreError(f"{path}: cannot be moved aside ({reason(error)})") from error


def finish_move(held: Path) -> Path:
    """Move a file from a lease folder into the hidden folder of its run."""
    folder, name = held.parent.parent / ASIDE, held.name.removeprefix(HELD)
    make_folder(folder)
    target, number = folder / name, 1
    while os.path.lexists(target):
        target, number = folder / f"{name}.{number}", number + 1
    os.rename(held, target)
    sync_folder(folder)
    return target
