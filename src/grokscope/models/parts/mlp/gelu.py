"""GELU units (Hendrycks & Gimpel 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch.nn.functional as F

from .base import FeedForward, mlps

if TYPE_CHECKING:
    from torch import Tensor


@mlps.register("gelu")
@dataclass(frozen=True, kw_only=True)
class GELU(FeedForward):
    """gelu(x W_in) W_out, with gelu(z) = z Φ(z)."""

    examplewise: ClassVar[bool] = True
    slope: ClassVar[float] = 1.13
    """The derivative is largest at z = √2: Φ(√2) + √2 φ(√2) = 1.1289 …"""

    def activation(self, x: Tensor) -> Tensor:
        return F.gelu(x)
