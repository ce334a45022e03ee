"""The heartbeat of the leases that this process holds: one thread counts for all of them."""

from __future__ import annotations

import os
import threading
from typing import Protocol

LENGTH = "GROKSCOPE_LEASE"
"""Environment variable with the length of a lease in seconds."""
DEFAULT = 60.0
BEATS = 6
"""Heartbeats per length of a lease."""


class Beating(Protocol):
    def beat(self, count: int) -> None: ...


_held: set[Beating] = set()
_lock = threading.Lock()
_thread: threading.Thread | None = None


def length() -> float:
    """Seconds without a heartbeat after which a lease has expired."""
    try:
        return max(float(os.environ.get(LENGTH, DEFAULT)), 0.1)
    except ValueError:
        return DEFAULT


def add(lease: Beating) -> None:
    """Beat for `lease` until `discard`."""
    global _thread
    with _lock:
        _held.add(lease)
        if _thread is None:
            _thread = threading.Thread(target=_beat, name="grokscope-heartbeat", daemon=True)
            _thread.start()


def discard(lease: Beating) -> None:
    with _lock:
        _held.discard(lease)


def _beat() -> None:
    """Ends when nothing was held for a while: most commands hold a lease only for an instant."""
    global _thread
    count = 0
    pause = threading.Event()
    while True:
        pause.wait(length() / BEATS)
        count += 1
        with _lock:
            held = tuple(_held)
            if not held:
                _thread = None
                return
        for lease in held:
            lease.beat(count)


def _after_fork() -> None:
    """Threads do not survive a fork, and the leases are the parent's."""
    global _thread, _lock
    _thread, _lock = None, threading.Lock()
    _held.clear()


os.register_at_fork(after_in_child=_after_fork)
