"""The last few splits, kept: runs that differ in their priors or weights only, such as the candidates of a search, share them.

Nobody may write to the tensors of a split. Should a component do so nevertheless, the split is drawn anew for the next run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from .guard import no_randomness_at_start

if TYPE_CHECKING:
    from ..tasks import Examples, Split, Task
    from ..tasks.base import SetAside

KEPT = 8
"""Results that are kept in any case: training and test examples, and those set aside, of four tasks or seeds."""
BYTES = 2**28
"""More are kept while all together take no more: searches of many seeds take turns at every rung."""


class _Drawn(NamedTuple):
    parts: Any
    versions: list[int]
    """How often each tensor had been written to in place when it was drawn."""
    size: int
    """Bytes."""


_lock = Lock()
_drawn: OrderedDict[tuple[Any, ...], _Drawn] = OrderedDict()
_drawing: dict[tuple[Any, ...], RLock] = {}
"""Held while a split is drawn: on a GPU several threads open runs that share one."""


def split_of(task: Task, seed: int) -> Split:
    """`task.split(seed)`; its tensors are shared and must not be modified."""
    found: Split = _kept("split", task, seed)
    return found


def set_aside_of(task: Task, seed: int) -> SetAside:
    """`task.set_aside(seed)`; its tensors are shared and must not be modified."""
    found: SetAside = _kept("set_aside", task, seed)
    return found


def _kept(method: str, task: Task, seed: int) -> Any:
    draw: Callable[[int], tuple[Examples | None, ...]] = getattr(task, method)
    if method in vars(task):  # this very object draws in its own way
        return draw(seed)
    key = (getattr(type(task), method), task, seed)
    try:
        with _lock:
            if (found := _known(key)) is not None:
                return found
            drawing = _drawing.setdefault(key, RLock())
    except TypeError:  # a task whose settings cannot be hashed
        return draw(seed)
    with drawing:
        with _lock:
            if (found := _known(key)) is not None:  # another thread has drawn it meanwhile
                return found
        try:
            with no_randomness_at_start():  # what depends on more than the seed is refused, not kept
                parts = draw(seed)
            with _lock:
                _drawn[key] = _Drawn(parts, _versions(parts), sum(tensor.nbytes for tensor in _tensors(parts)))
                _drawn.move_to_end(key)
                while len(_drawn) > KEPT and sum(one.size for one in _drawn.values()) > BYTES:
                    _drawn.popitem(last=False)
        finally:
            with _lock:
                _drawing.pop(key, None)
    return parts


def _known(key: tuple[Any, ...]) -> Any:
    """What is kept, unless somebody has written to it."""
    found = _drawn.get(key)
    if found is None or found.versions != _versions(found.parts):
        return None
    _drawn.move_to_end(key)
    return found.parts


def _versions(parts: Iterable[Examples | None]) -> list[int]:
    return [tensor._version for tensor in _tensors(parts)]


def _tensors(parts: Iterable[Examples | None]) -> Iterator[torch.Tensor]:
    return (one for part in parts if part is not None for one in part if isinstance(one, torch.Tensor))
