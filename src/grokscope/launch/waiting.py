"""Runs that other processes train: they are skipped, and picked up when the rest is finished."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..config import RunConfig
from ..store import is_held
from .interrupt import graceful_interrupt

_PAUSE = 0.2
"""Seconds between two looks at the locks."""


def wait_for(busy: Sequence[RunConfig], runs: str | Path, told: set[str]) -> list[RunConfig]:
    """Wait until other processes have released at least one of these runs, and return all of them; none if interrupted.

    told   ids of the runs that the user knows are waited for; these are added
    """
    if not busy:
        return []
    if {config.id for config in busy} - told:
        _tell(busy)
    told |= {config.id for config in busy}
    with graceful_interrupt() as interrupted:
        time.sleep(_PAUSE)  # also for a run that is being created, and has no lock yet
        # every one of them each time: a lease of another machine expires while it is watched
        while sum(is_held(Path(runs) / config.id) for config in busy) == len(busy):
            if interrupted():
                return []
            time.sleep(_PAUSE)
        return [] if interrupted() else list(busy)


def _tell(busy: Sequence[RunConfig]) -> None:
    shown = ", ".join(config.id for config in busy[:4]) + (", …" if len(busy) > 4 else "")
    number = f"{len(busy)} runs ({shown}) are" if len(busy) > 1 else f"run {shown} is"
    print(f"{number} being trained by another process: waiting for it (Ctrl-C stops waiting)", file=sys.stderr)
