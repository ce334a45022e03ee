"""RMSNorm (Zhang & Sennrich 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .base import Norm, norms

if TYPE_CHECKING:
    from torch import Tensor


@norms.register("rms")
@dataclass(frozen=True, kw_only=True)
class RMSNorm(Norm):
    """Mean square 1."""

    has_bias: ClassVar[bool] = False
    examplewise: ClassVar[bool] = True

    def centred(self, x: Tensor) -> Tensor:
        return x
