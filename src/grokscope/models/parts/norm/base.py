"""Base class of norms: N(x) = c(x)/s(x) with s² = mean square of c(x) + ε, and c(x) a linear map.

With `affine`, what is read is g ⊙ N(x) + b with a learned gain g and a learned bias b.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ....registry import Registry
from ....settings import setting
from ....shapes import Float
from ...base import Parameter
from ..base import Part, Sizes, in_full
from .placement import Site

if TYPE_CHECKING:
    from torch import Tensor

norms: Registry[type[Norm]] = Registry("norm", "grokscope.models.parts.norm")


@dataclass(frozen=True, kw_only=True)
class Norm(Part):
    """Base of all norms; a subclass must define `centred` only."""

    affine: bool = setting(False, since=2)
    """Whether it has a learned gain, 1 at first, and (LayerNorm) a learned bias, 0 at first."""

    epsilon: ClassVar[float] = 1e-5
    """ε, keeps a normalised vector finite."""
    has_bias: ClassVar[bool] = True
    """Whether `affine` adds a bias."""

    def centred(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        """c(x): a projection, such as x without its mean."""
        raise NotImplementedError

    def __call__(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        """N(x)"""
        centred = self.centred(in_full(x))
        return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + self.epsilon)

    def parameters_at(self, site: Site, sizes: Sizes) -> dict[str, Parameter]:
        """The gain and the bias of the norm before attention or the MLP; empty without `affine`."""
        if not self.affine:
            return {}
        found = {f"gain_{site}": Parameter((sizes.d,), "bias", 0.0, site, mean=1.0)}
        return found | ({f"bias_{site}": Parameter((sizes.d,), "bias", 0.0, site)} if self.has_bias else {})

    def at(self, site: Site, x: Float[Tensor, "... d"], weights: dict[str, Tensor]) -> Float[Tensor, "... d"]:
        """g ⊙ N(x) + b with the gain and the bias of that norm, or N(x)."""
        return self.scaled(site, self(x), weights)

    def scaled(self, site: Site, normal: Float[Tensor, "... d"], weights: dict[str, Tensor]) -> Float[Tensor, "... d"]:
        """g ⊙ N(x) + b, given N(x)."""
        if not self.affine:
            return normal
        scaled = weights[f"gain_{site}"] * normal
        return scaled + weights[f"bias_{site}"] if self.has_bias else scaled

    def slope(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "..."]:
        """1/s. ‖N(x) − N(y)‖ ≤ ‖x − y‖ / min(s_x, s_y), and ‖∂N/∂x‖ ≤ 1/s_x: N(x) is √d times the first d coordinates of
        (c, √dε)/‖(c, √dε)‖, and projections onto the unit sphere contract by the smaller norm, here √d s."""
        return torch.rsqrt(self.centred(in_full(x)).square().mean(-1) + self.epsilon)

    def steepest(self) -> float:
        """The largest slope there can be: s ≥ √ε."""
        return 1 / math.sqrt(self.epsilon)
