"""Fixed positions: the same tokens of every example, counted from the left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .base import Support, supports

if TYPE_CHECKING:
    from torch import Tensor


@supports.register("positions")
class Positions(Support):
    """Token j of every example; j counts from 0."""

    unit = "position"
    same_places = True

    def units(self, tokens: Tensor) -> list[int]:
        return list(range(tokens.shape[1] - 1))

    def mask(self, tokens: Tensor, unit: int) -> Tensor:
        return (torch.arange(tokens.shape[1]) == unit).expand(tokens.shape)

    def problem(self, length: int, vocabulary: int, unit: int) -> str:
        return "" if 0 <= unit < length - 1 else f"{unit} is outside 0 … {length - 2}: the query comes next"
