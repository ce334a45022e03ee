"""Learned absolute positions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...base import Parameter
from ..base import Sizes
from .base import PositionEncoding, position_encodings

if TYPE_CHECKING:
    from torch import Tensor


@position_encodings.register("learned")
@dataclass(frozen=True, kw_only=True)
class Learned(PositionEncoding):
    """e_j = E[token_j] + P[j], with one vector per position."""

    examplewise: ClassVar[bool] = True

    def parameters(self, sizes: Sizes) -> dict[str, Parameter]:
        std = sizes.init_scale / math.sqrt(sizes.d)
        return {"W_pos": Parameter((sizes.positions, sizes.d), "embedding", std, "embed")}

    def stream(self, weights: dict[str, Tensor], places: int) -> Tensor:
        return weights["W_pos"]
