"""Every subset of the wanted sizes."""

from __future__ import annotations

from dataclasses import dataclass

from ..candidates import Units
from .base import Pool, Proposal, proposals


@proposals.register("subsets")
@dataclass(frozen=True, kw_only=True)
class Subsets(Proposal):
    """All of them at once: nothing is missed, but their number grows as the length to the power of k."""

    def next(self, pool: Pool) -> list[Units]:
        return [] if pool.rounds else [units for size in pool.sizes for units in pool.subsets(size)]

    def least(self, pool: Pool) -> int:
        return pool.count(pool.sizes)
