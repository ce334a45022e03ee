"""LayerNorm (Ba et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .base import Norm, norms

if TYPE_CHECKING:
    from torch import Tensor


@norms.register("layer")
@dataclass(frozen=True, kw_only=True)
class LayerNorm(Norm):
    """Mean 0 and variance 1."""

    examplewise: ClassVar[bool] = True

    def centred(self, x: Tensor) -> Tensor:
        return x - x.mean(-1, keepdim=True)
