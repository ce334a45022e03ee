"""Garbage collection, paused where it does harm."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Context without garbage collection: making many objects that all stay, as imports do, would otherwise visit them again and
    again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def spared_objects() -> Iterator[None]:
    """Context in which searches for garbage leave out the objects that exist already: some 400,000 after importing PyTorch."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
