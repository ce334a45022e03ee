"""The end of a process at a chosen step on disk, for tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest


class Killed(BaseException):
    """Stands for the end of the process. Not an Exception, so nothing but the lock's release runs after it."""


class Killer:
    """Ends the process before or after the n-th step on disk; from then on no step works, as in a dead process."""

    def __init__(self, patch: pytest.MonkeyPatch, nth: int, after: bool):
        self.left, self.after, self.dead = nth, after, False
        for name in ("replace", "fsync", "unlink"):
            patch.setattr(os, name, self.deadly(getattr(os, name)))

    def deadly(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any) -> Any:
            self.left -= 1
            if self.dead or (self.left == 0 and not self.after):
                self.dead = True
                raise Killed
            result = step(*args)
            if self.left == 0:
                self.dead = True
                raise Killed
            return result

        return wrapped


def survives(nth: int, after: bool, action: Callable[[], Any]) -> bool:
    """Do `action` under a Killer; whether it came to its end."""
    with pytest.MonkeyPatch.context() as patch:
        killer = Killer(patch, nth, after)
        try:
            action()
        except Killed:
            return False
        assert not killer.dead
    return True
