"""Positions relative to the query: the same distance before the end, also in longer sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .base import Support, supports

if TYPE_CHECKING:
    from torch import Tensor


@supports.register("relative")
class Relative(Support):
    """The token j places before the query of every example; j counts from 1."""

    unit = "places before the query:"
    same_places = True

    def units(self, tokens: Tensor) -> list[int]:
        return list(range(1, tokens.shape[1]))

    def mask(self, tokens: Tensor, unit: int) -> Tensor:
        return (torch.arange(tokens.shape[1]) == tokens.shape[1] - 1 - unit).expand(tokens.shape)

    def problem(self, length: int, vocabulary: int, unit: int) -> str:
        return "" if 1 <= unit < length else f"{unit} is outside 1 … {length - 1}, the tokens before the query"
