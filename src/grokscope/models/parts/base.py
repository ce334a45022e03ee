"""Base class of the parts of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import torch

from ...settings import Settings
from ...shapes import Float

if TYPE_CHECKING:
    from torch import Tensor

    from ..base import Parameter


class Sizes(NamedTuple):
    """The dimensions of a model, from which its parts derive the shapes of their parameters."""

    vocabulary: int
    positions: int
    """Places of the longest sequence, in training or testing."""
    classes: int
    d: int
    """Width of the residual stream."""
    d_mlp: int
    """Hidden units of the MLP."""
    d_out: int
    """Output width of the MLP: d, or the number of classes."""
    heads: int
    init_scale: float
    """Factor on every weight at initialisation."""


@dataclass(frozen=True, kw_only=True)
class Part(Settings):
    """Base of all parts. Methods are given the weights of one layer under the names of the first (``W_Q``, not ``W_Q.1``)."""

    examplewise: ClassVar[bool] = False
    """As `Model.examplewise`."""

    def parameters(self, sizes: Sizes) -> dict[str, Parameter]:
        """The weights that belong to this part, in each layer; a part may have none."""
        return {}


def times(x: Float[Tensor, "... d"], W: Float[Tensor, "d out"]) -> Float[Tensor, "... out"]:
    """x W with all vectors of a run as the rows of one matrix. Of stacked runs, vmap would otherwise multiply the few positions of
    each example by a copy of W of their own."""
    return x @ W if x.ndim <= 2 else (x.flatten(0, -2) @ W).unflatten(0, x.shape[:-1])


def in_full(product: Tensor) -> Tensor:
    """A bf16 product in float32: what is summed or exponentiated from here on is not rounded again."""
    return product.float() if product.dtype == torch.bfloat16 else product
