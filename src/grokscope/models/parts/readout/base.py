"""Base class of readouts: the input of the MLP from the stream and the pooled values, and logits from the output of the MLP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ....registry import Registry
from ....shapes import Float
from ..base import Part

if TYPE_CHECKING:
    from torch import Tensor

readouts: Registry[type[Readout]] = Registry("readout", "grokscope.models.parts.readout")


@dataclass(frozen=True, kw_only=True)
class Readout(Part):
    """Base of all readouts."""

    residual: ClassVar[bool] = True
    """Whether the MLP writes to the residual stream (d wide), which several layers and heads need; else it writes logits."""

    def joined(self, stream: Float[Tensor, "... d"], h: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        """x, what the MLP reads; h are the pooled values."""
        raise NotImplementedError

    def logits(
        self, x: Float[Tensor, "... d"], written: Float[Tensor, "... out"], weights: dict[str, Tensor]
    ) -> Float[Tensor, "... class"]:
        """Logits from x and the output of the MLP."""
        raise NotImplementedError

    def prelogits(self, x: Float[Tensor, "... d"], written: Float[Tensor, "... out"]) -> Float[Tensor, "... d"] | None:
        """The residual stream that is unembedded; None for a readout without one."""
        return None

    def lipschitz(self, W_in: Tensor, W_out: Tensor, weights: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Upper bound on how fast the logits change with x, for an MLP that is bounded by two matrices (`factors`)."""
        raise NotImplementedError

    def writes(self, weights: dict[str, Tensor]) -> Float[Tensor, "neuron class"] | None:
        """What each hidden neuron adds to the logits; None if that is not linear."""
        return None
