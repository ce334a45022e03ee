"""Normalisation of vectors before a matrix, and its gradient: z = c(x)/s with s² = mean square of c(x) + ε.

c(x) is x without its mean (LayerNorm) or x itself (RMSNorm). `models.parts.norm` is the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import torch

from ..shapes import Float
from .triton import usable_on

if TYPE_CHECKING:
    from torch import Tensor


class Normalise(NamedTuple):
    """A norm without a gain or a bias."""

    kind: Literal["layer", "rms"]
    epsilon: float

    def __call__(self, x: Float[Tensor, "... d"]) -> tuple[Float[Tensor, "... d"], Float[Tensor, "... 1"]]:
        """z, and 1/s for `backward`."""
        if usable_on(x.device):
            from .triton.normalise import normalise

            return normalise(x, self.kind == "layer", self.epsilon)
        return self.plain(x)

    def plain(self, x: Float[Tensor, "... d"]) -> tuple[Float[Tensor, "... d"], Float[Tensor, "... 1"]]:
        """The same from operations that autograd knows."""
        centred = self._centred(x)
        slope = torch.rsqrt(centred.square().mean(-1, keepdim=True) + self.epsilon)
        return centred * slope, slope

    def backward(
        self,
        grad: Float[Tensor, "... d"],
        z: Float[Tensor, "... d"],
        slope: Float[Tensor, "... 1"],
        onto: Float[Tensor, "... d"] | None = None,
    ) -> Float[Tensor, "... d"]:
        """The gradient on x, given that on z; or `onto` with it added in place."""
        if usable_on(grad.device):
            from .triton.normalise import normalise_backward

            return normalise_backward(grad, z, slope, self.kind == "layer", onto)
        to_x = self.plain_backward(grad, z, slope)
        return to_x if onto is None else onto.add_(to_x)

    def plain_backward(self, grad: Tensor, z: Tensor, slope: Tensor) -> Float[Tensor, "... d"]:
        """The gradient on x from operations that autograd knows."""
        return self._centred((grad - z * (grad * z).mean(-1, keepdim=True)) * slope)

    def _centred(self, x: Tensor) -> Tensor:
        return x - x.mean(-1, keepdim=True) if self.kind == "layer" else x
