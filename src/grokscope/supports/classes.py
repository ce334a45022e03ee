"""Symbol classes: tokens by what they are, wherever they stand.

The classes are read off the training sequences: symbols that occur about equally often form one class. Operands of a task are drawn
uniformly from their vocabulary and so are distractors from theirs, so that the two differ by a factor wherever their numbers do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .base import Support, supports

if TYPE_CHECKING:
    from torch import Tensor

APART = 4.0
"""Standard errors between two symbols, next to each other in the order of frequency, that belong to different classes."""


@supports.register("classes")
class Classes(Support):
    """All tokens whose symbols belong to class j; class 0 has the rarest symbols."""

    unit = "symbol class"

    def units(self, tokens: Tensor) -> list[int]:
        return list(range(int(symbol_classes(tokens).max()) + 1))

    def mask(self, tokens: Tensor, unit: int) -> Tensor:
        return symbol_classes(tokens)[tokens] == unit

    def problem(self, length: int, vocabulary: int, unit: int) -> str:
        return (
            "" if 0 <= unit < vocabulary else f"{unit} is outside 0 … {vocabulary - 1}, the most classes there can be"
        )


def symbol_classes(tokens: Tensor) -> Tensor:
    """The class of each symbol [symbol], from how often it occurs before the query; −1 for symbols that do not occur.

    In the order of frequency a class ends where the square root of the count (whose standard error is ½ for rare events) rises
    by more than APART standard errors of the difference.
    """
    counts = torch.bincount(tokens[:, :-1].flatten(), minlength=int(tokens.max()) + 1)
    there = counts.nonzero().flatten()
    order = there[counts[there].argsort(stable=True)]
    rises = counts[order].double().sqrt().diff() > APART / 2**0.5
    classes = torch.full_like(counts, -1)
    classes[order] = torch.cat([torch.zeros(1, dtype=torch.long), rises.long().cumsum(0)])
    return classes
