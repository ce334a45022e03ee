"""Base class of proposals: which supports to try next, given how those before stand at the first rung."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...registry import Registry
from ...settings import Settings
from ..candidates import Standing, Units

proposals: Registry[type[Proposal]] = Registry("proposal", "grokscope.searching.proposals")


class Pool(NamedTuple):
    """What a proposal may know."""

    units: Sequence[int]
    """What supports are made of."""
    sizes: Sequence[int]
    """Sizes that the support may have."""
    tried: dict[Units, Standing]
    """Standings at the first rung, in the order in which they were proposed."""
    affordable: int
    """How many more candidates the budget can take to the first rung."""
    rounds: int
    """How often something was proposed before."""
    seed: int

    def subsets(self, size: int) -> Iterable[Units]:
        return itertools.combinations(sorted(self.units), size)

    def count(self, sizes: Iterable[int]) -> int:
        """How many subsets of these sizes there are."""
        return sum(math.comb(len(self.units), size) for size in sizes)


@dataclass(frozen=True, kw_only=True)
class Proposal(Settings):
    """Base of all proposals. A proposal is a pure function of the pool: a search that is continued proposes the same again."""

    def next(self, pool: Pool) -> list[Units]:
        """Supports to train to the first rung, none tried before; empty to end the screening."""
        raise NotImplementedError

    def least(self, pool: Pool) -> int:
        """How many candidates it needs to begin with."""
        return 1
