"""What a request would train, and what of it is stored already. Nothing is opened, repaired or written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..config import RunConfig, combine
from ..errors import StoreError
from ..store import read_metrics, read_run
from .remaining import branched_at, finished_as_requested, judged_rows, replay


class Part(NamedTuple):
    """The runs of one condition."""

    name: str
    runs: int
    finished: int
    begun: int
    """Runs that continue from a checkpoint."""
    steps: int
    """Optimizer steps that are left at most: runs may stop earlier."""


class Preview(NamedTuple):
    """What a request would train."""

    parts: list[Part]
    left: list[RunConfig]
    """The runs that would be trained, each with the epochs that are left."""
    damaged: dict[str, str]
    """Why runs cannot be read, by id. They fail when they are opened, and count with all their epochs."""

    @property
    def total(self) -> Part:
        """All conditions together; a run that several have counts once."""
        parts = self.parts
        return Part(
            "total",
            runs=sum(part.runs for part in parts),
            finished=sum(part.finished for part in parts),
            begun=sum(part.begun for part in parts),
            steps=sum(part.steps for part in parts),
        )


def preview(asked: Iterable[tuple[str, RunConfig]], runs: Path, again: bool = False) -> Preview:
    """The runs by condition, in the order of first appearance; a run with several conditions belongs to the first.

    again   count everything that is stored as deleted
    """
    asked = list(asked)
    condition: dict[str, str] = {}
    for name, config in asked:
        condition.setdefault(config.id, name)
    wanted, damaged = combine(config for _, config in asked), dict[str, str]()
    parts = {name: Part(name, 0, 0, 0, 0) for name in condition.values()}
    left = []
    for id, config in wanted.items():
        try:
            epoch = 0 if again else _reached(runs / id, config)
        except StoreError as error:
            damaged[id], epoch = str(error), 0
        part = parts[condition[id]]
        part = part._replace(runs=part.runs + 1)
        if epoch is None:
            part = part._replace(finished=part.finished + 1)
        else:
            rest = replace(config, epochs=config.epochs - epoch)
            part = part._replace(begun=part.begun + (epoch > 0), steps=part.steps + rest.epochs * rest.steps_per_epoch)
            left.append(rest)
        parts[condition[id]] = part
    return Preview(list(parts.values()), left, damaged)


def _reached(path: Path, config: RunConfig) -> int | None:
    """The epoch from which a run would be trained; None if it is finished."""
    if not path.exists():
        return 0
    if finished_as_requested(path, config):
        return None
    info = read_run(path)
    finished = replay(config, judged_rows(read_metrics(info)), branched_at(info.manifest)).status is not None
    if finished or info.epoch >= config.epochs:
        return None
    return info.epoch
