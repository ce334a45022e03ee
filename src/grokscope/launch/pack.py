"""Which runs can train side by side: those whose tensors have equal shapes and whose programs are the same."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..config import RunConfig

T = TypeVar("T")


def signature(config: RunConfig) -> str:
    """Equal for runs that differ only in seed, data, numbers that are the lanes' own, and when to log or stop."""
    rooms = (config.model, config.optim, config.filter, config.prior, config.constraint, config.ticket)
    return json.dumps(
        [*config.task.shape, *(room.structure() for room in rooms), config.loss, config.batch_size, config.precision]
    )


def pack(items: Iterable[tuple[RunConfig, T]]) -> list[list[T]]:
    """Items grouped by the signature of their configs, in the order of first appearance."""
    groups: dict[str, list[T]] = {}
    for config, item in items:
        groups.setdefault(signature(config), []).append(item)
    return list(groups.values())
