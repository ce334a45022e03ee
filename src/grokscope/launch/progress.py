"""A failing progress display must not stop training: its exception is reported once, and training continues without it."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..fleet.lane import Lane, Progress


class GuardedProgress:
    """A progress display whose exceptions stop only the display."""

    def __init__(self, progress: Progress):
        self.progress: Progress | None = progress

    def update(self, lanes: list[Lane], waiting: int) -> None:
        if self.progress is None:
            return
        try:
            self.progress.update(lanes, waiting)
        except Exception as error:
            self.progress = None
            with suppress(Exception):  # stderr itself may have failed
                print(
                    f"the progress display failed ({type(error).__name__}: {error}); training continues without it",
                    file=sys.stderr,
                )
