"""Base class of MLPs: φ(x W_in) W_out, or φ(x W_in + b_in) W_out + b_out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ....registry import Registry
from ....settings import setting
from ....shapes import Float
from ...base import Parameter
from ..base import Part, Sizes, times

if TYPE_CHECKING:
    from torch import Tensor

mlps: Registry[type[FeedForward]] = Registry("MLP", "grokscope.models.parts.mlp")


@dataclass(frozen=True, kw_only=True)
class FeedForward(Part):
    """Base of all MLPs; a subclass must define `activation`, and its `slope` if that exceeds 1."""

    bias: bool = setting(False, since=2)
    """Whether both layers have a bias, 0 at first."""

    slope: ClassVar[float] = 1.0
    """Upper bound on |φ′|."""

    def activation(self, x: Tensor) -> Tensor:
        """φ"""
        raise NotImplementedError

    def parameters(self, sizes: Sizes) -> dict[str, Parameter]:
        stds = (sizes.init_scale / math.sqrt(width) for width in (sizes.d, sizes.d_mlp))
        shapes = {"W_in": (sizes.d, sizes.d_mlp), "W_out": (sizes.d_mlp, sizes.d_out)}
        found = {n: Parameter(s, "matrix", std, "mlp") for (n, s), std in zip(shapes.items(), stds, strict=True)}
        if self.bias:
            found |= {f"b{name[1:]}": Parameter(shape[1:], "bias", 0.0, "mlp") for name, shape in shapes.items()}
        return found

    def hidden(self, x: Float[Tensor, "... d"], weights: dict[str, Tensor]) -> Float[Tensor, "... neuron"]:
        """φ(x W_in), or φ(x W_in + b_in)"""
        read = times(x, weights["W_in"])
        return self.activation(read + weights["b_in"] if self.bias else read)

    def output(self, hidden: Float[Tensor, "... neuron"], weights: dict[str, Tensor]) -> Float[Tensor, "... out"]:
        """hidden W_out, or hidden W_out + b_out"""
        written = times(hidden, weights["W_out"])
        return written + weights["b_out"] if self.bias else written

    def factors(self, weights: dict[str, Tensor]) -> tuple[Float[Tensor, "d neuron"], Float[Tensor, "neuron out"]]:
        """Two matrices; the product of their spectral norms bounds how fast the output changes with x."""
        W_in = weights["W_in"]
        return W_in if self.slope == 1 else self.slope * W_in, weights["W_out"]
