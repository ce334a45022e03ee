"""The two-layer ReLU network of the theory (structural inference, §3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from .base import FeedForward, mlps

if TYPE_CHECKING:
    from torch import Tensor


@mlps.register("relu")
@dataclass(frozen=True, kw_only=True)
class ReLU(FeedForward):
    """relu(x W_in) W_out."""

    examplewise: ClassVar[bool] = True

    def activation(self, x: Tensor) -> Tensor:
        return torch.relu(x)
