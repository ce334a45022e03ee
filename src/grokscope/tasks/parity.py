"""Sparse parity (Barak et al. 2022; Merrill et al. 2023; structural-inference, App. A.1).

The bits other than the k informative ones are the distractors, drawn from the operand vocabulary {0, 1}. All n
bits are columns of the table: train and test share no sequence, but they do share the few (2^k) settings of the operands.
With nothing to mark the operands their places are fixed: there is no random placement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..randomness import stream
from ..settings import require
from ..shapes import Int, checked
from .base import Examples, Shape, tasks
from .table import MOST_OPERANDS, Part, TableTask


@tasks.register("parity")
@dataclass(frozen=True, kw_only=True)
class Parity(TableTask):
    """XOR of k among n bits.

    Merrill et al. have n = 40, k = 3 and 1000 training examples; the defaults have 30 bits, to grok sooner, and 1024.
    """

    n: int = 30
    """Number of bits in a training sequence; n − k of them are distractors."""
    k: int = 3
    """Number of informative bits."""
    train_fraction: float = 1 / 16
    """Fraction of the 2^n sequences to train on; above 2^17 sequences: fraction of 16384 sampled ones."""
    form: Literal["tokens", "signs"] = "tokens"
    """Sequences of tokens, or vectors of n signs (0 is +1, 1 is −1) for models that read vectors."""

    @property
    def columns(self) -> tuple[range, ...]:
        return (range(2),) * self.n

    @property
    def distractors(self) -> int:
        return self.n - self.k

    @property
    def vocabulary(self) -> int:
        return 3

    @property
    def classes(self) -> int:
        return 2

    @property
    def shape(self) -> Shape:
        as_tokens = super().shape
        if self.form == "tokens":
            return as_tokens
        return as_tokens._replace(vocabulary=0, length=0, test_length=0, features=self.n)

    def check(self) -> None:
        require(1 <= self.n <= MOST_OPERANDS, "n", f"{self.n} is outside 1 … {MOST_OPERANDS}")
        require(1 <= self.k <= self.n, "k", f"{self.k} is outside 1 … n = {self.n}")
        super().check()
        longer = self.distractors_at_test > self.distractors
        require(self.form == "tokens" or not longer, "test_distractors", "vectors of signs have one length")

    @checked
    def label(self, rows: Int[Tensor, "row column"]) -> Int[Tensor, "row"]:
        return rows[:, self.places].sum(dim=1) % 2

    def examples(self, rows: Int[Tensor, "row column"], distractors: int, part: Part, seed: int) -> Examples:
        if self.form == "signs":
            return Examples(1.0 - 2.0 * rows, self.label(rows))
        more = distractors - self.distractors
        left = torch.randint(2, (len(rows), more), generator=stream(seed, f"{part} distractors"))
        query = torch.full((len(rows), 1), self.vocabulary - 1)
        tokens = torch.cat([left, rows, query], dim=1)
        informative = torch.zeros_like(tokens, dtype=torch.bool)
        informative[:, torch.tensor(self.places) + more] = True
        return Examples(tokens, self.label(rows), informative)
