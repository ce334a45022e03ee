"""Composition of permutations in S_n among distractors (Power et al. 2022; structural-inference, App. A.1)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..settings import require
from ..shapes import Int, checked
from .base import tasks
from .sparse import SparseTask

LARGEST = 8
"""S_8 has 40320 elements, each a symbol and a class; beyond that no model here has a use for them."""


@tasks.register("permutation")
@dataclass(frozen=True, kw_only=True)
class Permutation(SparseTask):
    """σ∘π, where π acts first: (σ∘π)(i) = σ(π(i)). Symbols number S_n in lexicographic order, the identity is 0."""

    n: int = 5
    """Number of things permuted; the group has n! elements."""

    @property
    def columns(self) -> tuple[range, ...]:
        return (range(self.symbols),) * 2

    @property
    def symbols(self) -> int:
        return math.factorial(self.n)

    @property
    def classes(self) -> int:
        return self.symbols

    def check(self) -> None:
        require(2 <= self.n <= LARGEST, "n", f"{self.n} is outside 2 … {LARGEST}")
        super().check()

    @checked
    def label(self, rows: Int[Tensor, "row column"]) -> Int[Tensor, "row"]:
        group = torch.tensor(list(itertools.permutations(range(self.n))))
        sigma, pi = group[rows].unbind(dim=1)
        return rank(sigma.gather(1, pi))


@checked
def rank(permutations: Int[Tensor, "row thing"]) -> Int[Tensor, "row"]:
    """The number of each permutation in lexicographic order: Σ_i (later values below the i-th) · (n−1−i)!."""
    n = permutations.shape[1]
    below = (permutations[:, None, :] < permutations[:, :, None]).triu()
    weights = torch.tensor([math.factorial(n - 1 - i) for i in range(n)])
    return below.sum(dim=2) @ weights
