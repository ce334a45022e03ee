"""Garbage collection, paused where it does harm.

After importing PyTorch there are some 400,000 objects that all stay. A search of all of them takes a tenth of a second or more.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_spared = False
"""Whether objects are spared now."""
_were_spared = False
"""Whether they ever were."""


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
def imports() -> Iterator[None]:
    """Context of imports: without garbage collection, and behind it all objects count as old. As young ones they would be searched
    at once."""
    with no_collection():
        yield
        if not gc.get_freeze_count():  # else someone has set objects aside, and wants them to stay there
            gc.freeze()
            gc.unfreeze()


@contextmanager
def spared_objects() -> Iterator[None]:
    """Context in which searches for garbage leave out the objects that exist already."""
    global _spared, _were_spared
    with _lock:
        mine = not _spared and not gc.get_freeze_count()
        _spared, _were_spared = _spared or mine, True
    if mine:
        gc.freeze()
    try:
        yield
    finally:
        if mine:
            gc.unfreeze()
            _spared = False


def spare_more() -> None:
    """Within `spared_objects`: search once, and leave out what is left from now on, too. For long work that keeps more and more
    objects, at a moment when nothing large is alive: garbage of what is spared is found at the end only."""
    if _spared:
        gc.collect()
        gc.freeze()


@contextmanager
def spared_at_first(collect: bool) -> Iterator[None]:
    """`spared_objects` for the first of several calls. The garbage of a call must be found in the next one.

    collect   search once before
    """
    if _were_spared:
        yield
        return
    if collect:
        gc.collect()
    with spared_objects():
        yield
