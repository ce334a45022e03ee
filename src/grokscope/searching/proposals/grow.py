"""Grow and swap: from the best supports so far add a unit, drop one, or exchange one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ...settings import require
from ..candidates import Units, ranked
from .base import Pool, Proposal, proposals


@proposals.register("grow")
@dataclass(frozen=True, kw_only=True)
class Grow(Proposal):
    """Begin with all subsets of the largest size for which those up to it take `start` of the budget; then the neighbours of the
    best `beam` supports of each size, until none is new or the budget is spent.

    A support is found this way only if a part of it does better than other subsets of that size.
    """

    beam: int = 4
    """How many of the best supports of each size are varied."""
    start: float = 0.5
    """Fraction of the screening budget for the first round."""

    def check(self) -> None:
        require(self.beam >= 1, "beam", f"{self.beam} is below 1")
        require(0 < self.start <= 1, "start", f"{self.start:g} is outside (0, 1]")

    def least(self, pool: Pool) -> int:
        """All single units; for larger supports one of each further size, for three units or more all pairs with the best."""
        smallest, units = min(pool.sizes), len(pool.units)
        best = min(self.beam, units)
        pairs = best * (units - 1) - math.comb(best, 2) if smallest > 2 else 0
        return units + pairs + (smallest - 1 if smallest <= 2 else smallest - 2)

    def next(self, pool: Pool) -> list[Units]:
        largest = max(pool.sizes)
        if not pool.rounds:
            sizes = [1]
            while sizes[-1] < largest and pool.count([*sizes, sizes[-1] + 1]) <= self.start * pool.affordable:
                sizes.append(sizes[-1] + 1)
            return [units for size in sizes for units in pool.subsets(size)]
        best = ranked(list(pool.tried.values()))
        parents: list[Units] = []
        for size in range(largest, 0, -1):
            parents += [one.units for one in best if one.size == size][: self.beam]
        fresh: dict[Units, None] = {}
        for parent in parents:
            for units in _neighbours(parent, pool):
                if 1 <= len(units) <= largest and units not in pool.tried:
                    fresh.setdefault(units)
        return list(fresh)[: pool.affordable]


def _neighbours(units: Units, pool: Pool) -> Iterator[Units]:
    """Supports that differ by one unit added, exchanged or dropped."""
    others = [unit for unit in sorted(pool.units) if unit not in units]
    for unit in others:
        yield tuple(sorted((*units, unit)))
    for dropped in units:
        rest = tuple(unit for unit in units if unit != dropped)
        yield rest
        for unit in others:
            yield tuple(sorted((*rest, unit)))
