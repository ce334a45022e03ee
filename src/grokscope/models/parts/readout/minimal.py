"""The readout of the theory (structural inference, §3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ....theory import two_layer_lipschitz
from .base import Readout, readouts

if TYPE_CHECKING:
    from torch import Tensor


@readouts.register("minimal")
@dataclass(frozen=True, kw_only=True)
class Minimal(Readout):
    """logits = MLP(h)."""

    examplewise: ClassVar[bool] = True
    residual: ClassVar[bool] = False

    def joined(self, stream: Tensor, h: Tensor) -> Tensor:
        return h

    def logits(self, x: Tensor, written: Tensor, weights: dict[str, Tensor]) -> Tensor:
        return written

    def lipschitz(self, W_in: Tensor, W_out: Tensor, weights: dict[str, Tensor]) -> Tensor:
        return two_layer_lipschitz(W_in, W_out)

    def writes(self, weights: dict[str, Tensor]) -> Tensor:
        return weights["W_out"]
