"""Operands among distractors (structural-inference, §3.1 and App. A.1; App. F.3 for random placement and longer tests).

The paper does not say what a distractor is, and that decides how hard it is to find the operands: here it is a setting,
from a constant symbol over q symbols to the operand vocabulary itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor

from ..randomness import stream
from ..settings import require
from ..shapes import Int
from .base import Examples
from .table import Part, TableTask


@dataclass(frozen=True, kw_only=True)
class SparseTask(TableTask):
    """A table of operands; distractors are drawn once per example. Train and test share no row of operands.

    A subclass defines the values of each operand (`columns`), how many operand symbols there are (`symbols`), the
    `classes` and the `label`. Symbols are numbered: operands first, then distractors, then "=".
    """

    distractors: int = 2
    """Number of distractors in a training sequence."""
    alphabet: int | Literal["operands"] = 16
    """Number of symbols that distractors are drawn from (1: a constant), or "operands" for the operand symbols."""
    placement: Literal["fixed", "random"] = "fixed"
    """Whether operands are at `positions`, or at random positions of each example, in order."""

    @property
    def k(self) -> int:
        return len(self.columns)

    @property
    def symbols(self) -> int:
        """Number of operand symbols."""
        raise NotImplementedError

    @property
    def distractor_symbols(self) -> range:
        if self.alphabet == "operands":
            return range(self.symbols)
        return range(self.symbols, self.symbols + (self.alphabet if self.distractors_at_test else 0))

    @property
    def vocabulary(self) -> int:
        return max(self.symbols, self.distractor_symbols.stop) + 1

    def check(self) -> None:
        if self.alphabet != "operands":
            require(self.alphabet >= 1, "alphabet", f"{self.alphabet} is below 1")
        super().check()
        if self.placement == "random":
            require(not self.positions, "positions", "with random placement the operands have no fixed positions")
            require(
                self.alphabet != "operands" or self.distractors_at_test == 0,
                "placement",
                "random is undecidable with distractors from the operand vocabulary: nothing marks the operands",
            )

    def examples(self, rows: Int[Tensor, "row column"], distractors: int, part: Part, seed: int) -> Examples:
        places = self._places(len(rows), distractors, stream(seed, f"{part} placement"))
        tokens = self._distractors(len(rows), distractors, stream(seed, f"{part} distractors"))
        tokens[:, -1] = self.vocabulary - 1
        tokens.scatter_(1, places, rows)
        informative = torch.zeros_like(tokens, dtype=torch.bool).scatter_(1, places, True)
        return Examples(tokens, self.label(rows), informative)

    def _distractors(self, rows: int, distractors: int, generator: Generator) -> Int[Tensor, "row position"]:
        """A distractor at every position, for the operands and the query to overwrite."""
        size = (rows, self.k + distractors + 1)
        if not distractors:
            return torch.empty(size, dtype=torch.long)
        symbols = self.distractor_symbols
        return torch.randint(symbols.start, symbols.stop, size, generator=generator)

    def _places(self, rows: int, distractors: int, generator: Generator) -> Int[Tensor, "row operand"]:
        """The positions of each example's operands."""
        if self.placement == "random":
            order = torch.rand(rows, self.k + distractors, generator=generator).argsort(dim=1)
            return order[:, : self.k].sort(dim=1).values
        return (torch.tensor(self.places) + distractors - self.distractors).expand(rows, -1)
