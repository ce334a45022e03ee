"""Base class of MLPs: φ(x W_in) W_out, without biases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ....registry import Registry
from ....shapes import Float
from ...base import Parameter
from ..base import Part, Sizes, times

if TYPE_CHECKING:
    from torch import Tensor

mlps: Registry[type[FeedForward]] = Registry("MLP", "grokscope.models.parts.mlp")


@dataclass(frozen=True, kw_only=True)
class FeedForward(Part):
    """Base of all MLPs; a subclass must define `activation`, and its `slope` if that exceeds 1."""

    slope: ClassVar[float] = 1.0
    """Upper bound on |φ′|."""

    def activation(self, x: Tensor) -> Tensor:
        """φ"""
        raise NotImplementedError

    def parameters(self, sizes: Sizes) -> dict[str, Parameter]:
        stds = (sizes.init_scale / math.sqrt(width) for width in (sizes.d, sizes.d_mlp))
        shapes = {"W_in": (sizes.d, sizes.d_mlp), "W_out": (sizes.d_mlp, sizes.d_out)}
        return {n: Parameter(shape, "matrix", std, "mlp") for (n, shape), std in zip(shapes.items(), stds, strict=True)}

    def hidden(self, x: Float[Tensor, "... d"], weights: dict[str, Tensor]) -> Float[Tensor, "... neuron"]:
        """φ(x W_in)"""
        return self.activation(times(x, weights["W_in"]))

    def output(self, hidden: Float[Tensor, "... neuron"], weights: dict[str, Tensor]) -> Float[Tensor, "... out"]:
        """hidden W_out"""
        return times(hidden, weights["W_out"])

    def factors(self, weights: dict[str, Tensor]) -> tuple[Float[Tensor, "d neuron"], Float[Tensor, "neuron out"]]:
        """Two matrices; the product of their spectral norms bounds how fast the output changes with x."""
        W_in = weights["W_in"]
        return W_in if self.slope == 1 else self.slope * W_in, weights["W_out"]
