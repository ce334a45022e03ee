"""The usual block: attention and the MLP add to a residual stream, which is unembedded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ....theory import residual_lipschitz
from ...base import Parameter
from ..base import Sizes, times
from .base import Readout, readouts

if TYPE_CHECKING:
    from torch import Tensor


@readouts.register("residual")
@dataclass(frozen=True, kw_only=True)
class Residual(Readout):
    """x = e_q + h, logits = (x + MLP(x)) W_U."""

    examplewise: ClassVar[bool] = True

    def parameters(self, sizes: Sizes) -> dict[str, Parameter]:
        std = sizes.init_scale / math.sqrt(sizes.d)
        return {"W_U": Parameter((sizes.d, sizes.classes), "embedding", std, "readout")}

    def joined(self, stream: Tensor, h: Tensor) -> Tensor:
        return stream + h

    def logits(self, x: Tensor, written: Tensor, weights: dict[str, Tensor]) -> Tensor:
        return times(self.prelogits(x, written), weights["W_U"])

    def prelogits(self, x: Tensor, written: Tensor) -> Tensor:
        return x + written

    def lipschitz(self, W_in: Tensor, W_out: Tensor, weights: dict[str, Tensor]) -> Tensor:
        return residual_lipschitz(W_in, W_out, weights["W_U"])

    def writes(self, weights: dict[str, Tensor]) -> Tensor:
        return weights["W_out"] @ weights["W_U"]
