"""All subsets where they fit the budget, grow and swap where they do not."""

from __future__ import annotations

from dataclasses import dataclass

from ..candidates import Units
from .base import Pool, Proposal, proposals
from .grow import Grow
from .subsets import Subsets


@proposals.register("auto")
@dataclass(frozen=True, kw_only=True)
class Auto(Proposal):
    """`subsets` if all of the wanted sizes can be taken to the first rung, else `grow`."""

    def next(self, pool: Pool) -> list[Units]:
        fits = pool.count(pool.sizes) <= pool.affordable + len(pool.tried)
        return (Subsets() if fits else Grow()).next(pool)

    def least(self, pool: Pool) -> int:
        return min(Subsets().least(pool), Grow().least(pool))
