"""Chunks: the runs that one device trains together, one task of a cluster each. Pure and picklable.

How a sweep is cut changes no numbers: each run is computed from its own config alone, bit for bit on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..config import RunConfig
from ..config.references import in_stages, origins
from .plan import FEW, MOST_LANES, pack

PER_SLOT = 2
"""Chunks per task that can run at once: those that end early leave work for the others."""


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Runs that train together."""

    configs: tuple[RunConfig, ...]
    lanes: int | None = None
    """Lanes of a fleet; None is decided on the device, by its free memory."""
    threads: int | None = None
    """Threads of the process; None is decided there."""
    stage: int = 0
    """0 for runs that refer to no other run of the plan, 1 for those that refer to runs of stage 0, and so on."""
    after: tuple[int, ...] = ()
    """Places, in the plan, of the chunks with the teachers and tickets of these runs: they end first."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(config.id for config in self.configs)


def cut(
    configs: Iterable[RunConfig], *, size: int, lanes: int | None = None, threads: int | None = None
) -> tuple[Chunk, ...]:
    """Chunks of at most `size` runs of equal signature, stage after stage."""
    chunks: list[Chunk] = []
    place: dict[str, int] = {}
    for stage, wanted in enumerate(in_stages(configs)):
        for group in pack((config, config) for config in wanted):
            for begin in range(0, len(group), size):
                own = tuple(group[begin : begin + size])
                after = {place[id] for config in own for id in origins(config) if id in place}
                place |= {config.id: len(chunks) for config in own}
                chunks.append(Chunk(configs=own, lanes=lanes, threads=threads, stage=stage, after=tuple(sorted(after))))
    return tuple(chunks)


def chunk_size(runs: int, slots: int, *, gpu: bool) -> int:
    """Runs per chunk for `runs` runs on `slots` devices: small enough to keep all busy, large enough to fill a GPU."""
    fair = math.ceil(runs / (slots * (1 if gpu else PER_SLOT)))
    return min(max(fair, FEW if gpu else 1), MOST_LANES)
