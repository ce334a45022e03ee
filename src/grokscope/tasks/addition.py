"""Addition of k operands among distractors (structural-inference, App. A.1). Two operands: the task `modular`."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..settings import require
from ..shapes import Int, checked
from .base import tasks
from .sparse import SparseTask
from .table import MOST_OPERANDS


@tasks.register("k-addition")
@dataclass(frozen=True, kw_only=True)
class Addition(SparseTask):
    """a₁ + … + a_k mod p. The defaults give a table about as large as that of two operands mod 113."""

    p: int = 23
    """Modulus. Operands are 0 … p−1."""
    k: int = 3
    """Number of operands."""

    @property
    def columns(self) -> tuple[range, ...]:
        return (range(self.p),) * self.k

    @property
    def symbols(self) -> int:
        return self.p

    @property
    def classes(self) -> int:
        return self.p

    def check(self) -> None:
        require(self.p >= 2, "p", f"{self.p} is below 2")
        require(1 <= self.k <= MOST_OPERANDS, "k", f"{self.k} is outside 1 … {MOST_OPERANDS}")
        super().check()

    @checked
    def label(self, rows: Int[Tensor, "row column"]) -> Int[Tensor, "row"]:
        return rows.sum(dim=1) % self.p
