"""A display must never cost a run: what it raises is reported once, and training goes on without it."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..fleet.engine import Lane, Progress


class GuardedProgress:
    """A progress display whose exceptions end the display and nothing else."""

    def __init__(self, progress: Progress):
        self.progress: Progress | None = progress

    def update(self, lanes: list[Lane], waiting: int) -> None:
        if self.progress is None:
            return
        try:
            self.progress.update(lanes, waiting)
        except Exception as error:
            self.progress = None
            with suppress(Exception):  # stderr may be what failed
                print(
                    f"the progress display failed ({type(error).__name__}: {error}); training continues without it",
                    file=sys.stderr,
                )
