"""An MLP on one-hot tokens, one block of inputs per position: the network of Gromov (2023), of Prieto et al. (2025, two hidden
layers of 200 units without biases) and of egalitarian gradient descent (2025, one hidden layer of 512).

x = the one-hot tokens of all positions before the query, joined; W_1 has one row per token and position, so that x W_1 is a sum of
looked-up rows. Weights start at N(0, κ/√d_in), biases at 0. PyTorch's nn.Linear draws uniformly with the standard deviation
1/√(3 d_in): that is κ = 0.577 here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.nn.functional as F

from ..ops.lookup import Plan, pool
from ..settings import require
from .base import MOST_LAYERS, Model, Output, Parameter, models
from .parts import Dropout
from .parts.base import in_full
from .parts.dropout import check_dropout

if TYPE_CHECKING:
    from torch import Tensor

    from ..randomness import Key
    from ..tasks import Shape


@models.register("onehot-mlp")
@dataclass(frozen=True, kw_only=True)
class OneHotMLP(Model):
    """Hidden layers of ReLU units on the joined one-hot tokens before the query; it sees their order."""

    width: int = 200
    """Units of each hidden layer."""
    layers: int = 2
    """Hidden layers."""
    biases: bool = False
    """Whether every hidden layer adds a bias."""
    kappa: float = 1.0
    """κ, the scale of the initial weights."""
    dropout: float = 0.0
    """Fraction of the units of every hidden layer that is set to 0 at random in a training step."""

    has_attention: ClassVar[bool] = False
    HOST: ClassVar[tuple[str, ...]] = ("kappa",)

    def check(self) -> None:
        require(self.width >= 1, "width", f"{self.width} is below 1")
        require(1 <= self.layers < MOST_LAYERS, "layers", f"{self.layers} is outside 1 … {MOST_LAYERS - 1}")
        require(self.kappa > 0, "kappa", f"{self.kappa} is not above 0")
        check_dropout(self.dropout)

    def check_task(self, shape: Shape) -> None:
        super().check_task(shape)
        same = shape.test_length == shape.length
        require(same, "kind", f"{self.kind} has no weights for the additional positions of longer test sequences")

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        tokens, places = shape.vocabulary - 1, shape.length - 1
        weights = {}
        for layer, (d_in, d_out) in enumerate(pairwise([tokens * places, *[self.width] * self.layers]), start=1):
            weights[f"W_{layer}"] = Parameter((d_in, d_out), "matrix", self.kappa / math.sqrt(d_in), "mlp")
            if self.biases:
                weights[f"b_{layer}"] = Parameter((d_out,), "bias", 0.0, "mlp")
        std = self.kappa / math.sqrt(self.width)
        weights["W_U"] = Parameter((self.width, shape.classes), "embedding", std, "readout")
        return weights

    def forward(
        self, weights: dict[str, Tensor], inputs: Plan, *, training: bool = False, key: Key | None = None, **how: Any
    ) -> Output:
        drop = Dropout(self.dropout, training, key)
        x = self._read(weights["W_1"], inputs)
        for layer in range(1, self.layers + 1):
            if layer > 1:
                x = x @ weights[f"W_{layer}"]
            bias = weights.get(f"b_{layer}")
            x = drop(torch.relu(x if bias is None else x + bias), layer)
        return Output(x @ weights["W_U"])

    def _read(self, W: Tensor, plan: Plan) -> Tensor:
        """x W_1 [example, unit]: nothing is read from "=", the last token, nor at its place."""
        places = plan.row.shape[-1] - 1
        table = F.pad(W.unflatten(0, (-1, places)), (0, 0, 0, 1, 0, 1)).flatten(0, 1)
        each = torch.ones(plan.row.shape, dtype=W.dtype, device=W.device)
        return pool(in_full(table), each, plan)
