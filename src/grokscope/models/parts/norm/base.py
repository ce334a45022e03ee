"""Base class of norms: N(x) = c(x)/s(x) with s² = mean square of c(x) + ε, and c(x) a linear map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ....registry import Registry
from ....shapes import Float
from ..base import Part, in_full

if TYPE_CHECKING:
    from torch import Tensor

norms: Registry[type[Norm]] = Registry("norm", "grokscope.models.parts.norm")


@dataclass(frozen=True, kw_only=True)
class Norm(Part):
    """Base of all norms; a subclass must define `centred` only."""

    epsilon: ClassVar[float] = 1e-5
    """ε, keeps a normalised vector finite."""

    def centred(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        """c(x): a projection, such as x without its mean."""
        raise NotImplementedError

    def __call__(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        """N(x)"""
        centred = self.centred(in_full(x))
        return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + self.epsilon)

    def slope(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "..."]:
        """1/s. ‖N(x) − N(y)‖ ≤ ‖x − y‖ / min(s_x, s_y), and ‖∂N/∂x‖ ≤ 1/s_x: N(x) is √d times the first d coordinates of
        (c, √dε)/‖(c, √dε)‖, and projections onto the unit sphere contract by the smaller norm, here √d s."""
        return torch.rsqrt(self.centred(in_full(x)).square().mean(-1) + self.epsilon)

    def steepest(self) -> float:
        """The largest slope there can be: s ≥ √ε."""
        return 1 / math.sqrt(self.epsilon)
