"""Rotary positions (Su et al. 2021, RoFormer): queries and keys are rotated by angles proportional to their position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ....settings import require
from ..base import in_full
from .base import PositionEncoding, position_encodings

if TYPE_CHECKING:
    from torch import Tensor


@position_encodings.register("rotary")
@dataclass(frozen=True, kw_only=True)
class Rotary(PositionEncoding):
    """Coordinates i and i + width/2 are rotated together, by base^(−2i/width) per position: logits depend on distances alone."""

    examplewise: ClassVar[bool] = True

    base: float = 10_000.0
    """The slowest pair of coordinates rotates about this many times slower than the fastest."""

    def check(self) -> None:
        require(self.base > 1, "base", f"{self.base} is not above 1")

    def check_width(self, width: int) -> None:
        require(width % 2 == 0, "positions", f"rotary positions need an even head width, got {width}")

    def turn(self, x: Tensor, back: Tensor) -> Tensor:
        x, half = in_full(x), x.shape[-1] // 2  # angles need more digits than bf16 has
        rate = self.base ** -(torch.arange(half, dtype=x.dtype, device=x.device) / half)
        angle = -back.to(x.dtype)[:, None] * rate
        first, second = x[..., :half], x[..., half:]
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
