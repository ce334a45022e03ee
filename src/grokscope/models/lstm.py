"""Two LSTM layers for text (Hochreiter & Schmidhuber 1997; grokking tickets, App. J, after Omnigrok): read at the last position.

Each layer has i, f, o = σ(gates), g = tanh(gate);  c⁺ = f c + i g;  h⁺ = o tanh(c⁺), and logits = h₂ W_U at the query
(`ops/lstm.py`). On padding both layers keep their state.

Embeddings start at N(0, κ), as PyTorch's do for κ = 1, other weights at N(0, κ/√d_in), biases at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from ..ops.lookup import Plan
from ..ops.lstm import GATES, after_first, last_state
from ..settings import require, setting
from .base import Model, Output, Parameter, models
from .parts import Dropout
from .parts.base import in_full
from .parts.dropout import check_dropout

if TYPE_CHECKING:
    from torch import Tensor

    from ..randomness import Key
    from ..tasks import Shape


TABLE, FIRST = "shared table", "shared first"
"""Names of the tables of `shared`."""


@models.register("lstm")
@dataclass(frozen=True, kw_only=True)
class LSTM(Model):
    """Two LSTM layers over a sequence of tokens."""

    d: int = 64
    """Width of the embeddings."""
    hidden: int = 128
    """Units of each layer."""
    padding: int | None = None
    """Padding token, which leaves the state unchanged (0 for imdb); none: every token counts."""
    kappa: float = 1.0
    """κ, the scale of the initial weights."""
    dropout: float = setting(0.0, since=2)
    """Fraction of the units that the readout reads, h₂ at the query, that is set to 0 at random in a training step."""

    has_attention: ClassVar[bool] = False
    examplewise: ClassVar[bool] = True
    HOST: ClassVar[tuple[str, ...]] = ("kappa",)

    def check(self) -> None:
        for field in ("d", "hidden"):
            require(getattr(self, field) >= 1, field, f"{getattr(self, field)} is below 1")
        require(self.kappa > 0, "kappa", f"{self.kappa} is not above 0")
        check_dropout(self.dropout)

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        weights = {"W_E": Parameter((shape.vocabulary, self.d), "embedding", self.kappa, "embed")}
        for layer, d_in in ((1, self.d), (2, self.hidden)):
            for name, width in ((f"W_x{layer}", d_in), (f"W_h{layer}", self.hidden)):
                std = self.kappa / math.sqrt(width)
                weights[name] = Parameter((width, GATES * self.hidden), "matrix", std, "mlp")
            weights[f"b_{layer}"] = Parameter((GATES * self.hidden,), "bias", 0.0, "mlp")
        std = self.kappa / math.sqrt(self.hidden)
        return weights | {"W_U": Parameter((self.hidden, shape.classes), "embedding", std, "readout")}

    def positions_computed(self, shape: Shape) -> int:
        return shape.length

    def shared(self, weights: dict[str, Tensor], inputs: Plan, examples: int) -> dict[str, Tensor]:
        """What each token adds to the gates of layer 1, and what it leaves behind where it comes first, if tokens are fewer than
        examples and none of them is padding."""
        table = in_full(weights["W_E"] @ weights["W_x1"]) + weights["b_1"]
        found = {TABLE: table}
        if self.padding is None and inputs.row.shape[-1] > 1 and examples > len(table):
            found[FIRST] = after_first(table, weights["W_h1"], _second(weights), weights["b_2"])
        return found

    def forward(
        self, weights: dict[str, Tensor], inputs: Plan, *, training: bool = False, key: Key | None = None, **how: Any
    ) -> Output:
        if TABLE not in weights:
            weights = weights | self.shared(weights, inputs, 0)
        table, second = weights[TABLE], _second(weights)
        sequences = inputs.by_token(len(table))
        moves = None if self.padding is None else sequences.row != self.padding
        h = last_state(table, sequences, weights["W_h1"], second, weights["b_2"], moves, weights.get(FIRST))
        return Output(Dropout(self.dropout, training, key)(h) @ weights["W_U"])


def _second(weights: dict[str, Tensor]) -> Tensor:
    """What carries (h₁, h₂) to the gates of layer 2."""
    return torch.cat([weights["W_x2"], weights["W_h2"]])
