"""Random cases for the theory: everything is drawn in float64 from one seed, which hypothesis chooses."""

from __future__ import annotations

import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor

seeds = st.integers(0, 2**31)
some = settings(max_examples=30)
"""Each seed is a batch of cases, so a few seeds are many cases."""

CASES = 16


class Draw:
    """Tensors from a seed, `CASES` of each kind, of sizes and scales that differ from seed to seed."""

    def __init__(self, seed: int):
        self.generator = torch.Generator().manual_seed(seed)
        self.positions = self.whole(2, 7)
        self.width = self.whole(1, 5)

    def whole(self, low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def normal(self, *shape: int) -> Tensor:
        """Normal numbers times a common scale between 0.1 and 10."""
        scale = 10 ** (2 * torch.rand((), generator=self.generator, dtype=torch.float64) - 1)
        return scale * torch.randn(CASES, *shape, generator=self.generator, dtype=torch.float64)

    def share(self, *shape: int) -> Tensor:
        return torch.rand(CASES, *shape, generator=self.generator, dtype=torch.float64)

    def positive(self, *shape: int) -> Tensor:
        return self.normal(*shape).abs() + 1e-3

    def attention(self, *shape: int) -> Tensor:
        """Distributions over the last axis, from flat to sharp."""
        return torch.softmax(self.normal(*(shape or (self.positions,))), -1)

    def values(self) -> Tensor:
        return self.normal(self.positions, self.width)

    def position(self) -> Tensor:
        return torch.randint(0, self.positions, (CASES,), generator=self.generator)

    def informative(self, *, spare: bool = False) -> Tensor:
        """At least one position; with `spare`, not all of those before the query."""
        mask = self.share(self.positions) < 0.5
        mask[:, 0] = True
        if spare:
            mask[:, -2] = False
        return mask
