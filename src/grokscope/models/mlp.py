"""A plain ReLU MLP for vectors: four layers for MNIST (grokking tickets, App. B.1), two for sparse parity (Merrill et al. 2023),
four of different widths for the polynomial regression of the grokking-tickets code.

Weights start at N(0, κ/√d_in), biases at 0. Omnigrok (Liu et al. 2023) makes MNIST grok by multiplying PyTorch's uniform
initial weights by 8; their standard deviation is 1/√(3 d_in), so that is κ = 8/√3 ≈ 4.6 here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from ..settings import require, setting
from .base import MOST_LAYERS, Model, Output, Parameter, models
from .parts import Dropout
from .parts.dropout import check_dropout

if TYPE_CHECKING:
    from torch import Tensor

    from ..randomness import Key
    from ..tasks import Shape


@models.register("mlp")
@dataclass(frozen=True, kw_only=True)
class MLP(Model):
    """Layers of ReLU units on a vector."""

    depth: int = 4
    """Weight matrices; there is one hidden layer fewer."""
    width: int = 200
    """Units of each hidden layer."""
    biases: bool = True
    """Whether every layer adds a bias."""
    kappa: float = 1.0
    """κ, the scale of the initial weights."""
    dropout: float = setting(0.0, since=2)
    """Fraction of the units of every hidden layer that is set to 0 at random in a training step."""
    widths: tuple[int, ...] = setting((), since=3)
    """Units of each hidden layer where they differ, in place of `depth` and `width`; leave these at their defaults."""

    has_attention: ClassVar[bool] = False
    examplewise: ClassVar[bool] = True
    HOST: ClassVar[tuple[str, ...]] = ("kappa",)

    def check(self) -> None:
        require(1 <= self.depth <= MOST_LAYERS, "depth", f"{self.depth} is outside 1 … {MOST_LAYERS}")
        require(self.width >= 1, "width", f"{self.width} is below 1")
        self._check_widths()
        require(self.kappa > 0, "kappa", f"{self.kappa} is not above 0")
        check_dropout(self.dropout)

    def _check_widths(self) -> None:
        if not self.widths:
            return
        require(len(self.widths) < MOST_LAYERS, "widths", f"{len(self.widths)} hidden layers are too many")
        require(min(self.widths) >= 1, "widths", f"{min(self.widths)} is below 1")
        for field in ("depth", "width"):
            own, default = getattr(self, field), getattr(MLP, field)
            require(own == default, field, f"{own} has no effect: widths gives the layers; leave it at {default}")

    @property
    def hidden(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return self.widths or (self.width,) * (self.depth - 1)

    def check_task(self, shape: Shape) -> None:
        require(shape.features > 0, "kind", "mlp reads vectors, and this task has tokens")

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        widths = [shape.features, *self.hidden, shape.classes]
        weights = {}
        for layer, (d_in, d_out) in enumerate(pairwise(widths), start=1):
            weights[f"W_{layer}"] = Parameter((d_in, d_out), "matrix", self.kappa / math.sqrt(d_in), "mlp")
            if self.biases:
                weights[f"b_{layer}"] = Parameter((d_out,), "bias", 0.0, "mlp")
        return weights

    def forward(
        self, weights: dict[str, Tensor], inputs: Tensor, *, training: bool = False, key: Key | None = None, **how: Any
    ) -> Output:
        x, drop = inputs, Dropout(self.dropout, training, key)
        last = len(self.hidden) + 1
        for layer in range(1, last + 1):
            W, b = weights[f"W_{layer}"], weights.get(f"b_{layer}")
            if layer == last:
                W = W.T.contiguous().T  # few columns side by side: their products take a fifth of the time on a CPU
            x = x @ W if b is None else torch.addmm(b, x, W)
            if layer < last:
                x = drop(torch.relu_(x), layer)
        return Output(x)
