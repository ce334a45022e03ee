"""Marked tokens: the token that follows a marker, wherever the marker stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .base import Support, supports

if TYPE_CHECKING:
    from torch import Tensor


@supports.register("after")
class After(Support):
    """The token after every occurrence of symbol j. Symbols that occur in every training sequence can be markers."""

    unit = "after symbol"

    def units(self, tokens: Tensor) -> list[int]:
        before = tokens[:, :-2]
        return [symbol for symbol in before.unique().tolist() if bool((before == symbol).any(1).all())]

    def mask(self, tokens: Tensor, unit: int) -> Tensor:
        mask = torch.zeros_like(tokens, dtype=torch.bool)
        mask[:, 1:] = tokens[:, :-1] == unit
        return mask

    def problem(self, length: int, vocabulary: int, unit: int) -> str:
        return "" if 0 <= unit < vocabulary else f"symbol {unit} is outside 0 … {vocabulary - 1}"
