"""Group tests: supersets first. Half of the units at a time are put under one prior; units whose groups do better are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from ...randomness import stream
from ...settings import require
from ..candidates import Units
from .base import Pool, Proposal, proposals


@proposals.register("groups")
@dataclass(frozen=True, kw_only=True)
class Groups(Proposal):
    """Random halves of the units and their complements in the first round; a unit's score is the mean loss of the groups without
    it minus that of the groups with it. In the second round all subsets of the units with the best scores, as many as fit.

    Groups are not supports themselves: none of them can win, unless it has a wanted size.
    """

    groups: int = 0
    """Number of groups, in pairs of complements; 0 means a third of what the budget allows, at most 8 per unit."""

    def check(self) -> None:
        require(self.groups >= 0, "groups", f"{self.groups} is below 0")

    def least(self, pool: Pool) -> int:
        return 2 + pool.count([min(pool.sizes)]) // max(len(pool.units), 1)

    def next(self, pool: Pool) -> list[Units]:
        if not pool.rounds:
            return self._groups(pool)
        return self._subsets(pool) if pool.rounds == 1 else []

    def _groups(self, pool: Pool) -> list[Units]:
        wanted = self.groups or min(max(2, pool.affordable // 3), 8 * len(pool.units))
        generator = stream(pool.seed, "group tests")
        found: dict[Units, None] = {}
        for _ in range(wanted // 2):
            order = torch.randperm(len(pool.units), generator=generator).tolist()
            half = {pool.units[place] for place in order[: len(order) // 2]}
            for group in (half, set(pool.units) - half):
                if group:
                    found.setdefault(tuple(sorted(group)))
        return list(found)

    def _subsets(self, pool: Pool) -> list[Units]:
        scores = {unit: _score(unit, pool) for unit in pool.units}
        best = sorted(pool.units, key=lambda unit: (-scores[unit], unit))
        kept = max(pool.sizes)
        while kept < len(best) and sum(math.comb(kept + 1, size) for size in pool.sizes) <= pool.affordable:
            kept += 1
        among = pool._replace(units=best[:kept])
        fresh = [units for size in pool.sizes for units in among.subsets(size) if units not in pool.tried]
        return fresh[: pool.affordable]


def _score(unit: int, pool: Pool) -> float:
    inside = [one.loss for one in pool.tried.values() if unit in one.units and math.isfinite(one.loss)]
    outside = [one.loss for one in pool.tried.values() if unit not in one.units and math.isfinite(one.loss)]
    if not inside or not outside:
        return -math.inf
    return sum(outside) / len(outside) - sum(inside) / len(inside)
