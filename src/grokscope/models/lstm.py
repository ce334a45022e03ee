"""Two LSTM layers for text (Hochreiter & Schmidhuber 1997; grokking tickets, App. J, after Omnigrok): read at the last position.

Each layer has i, f, o = σ(gates), g = tanh(gate);  c⁺ = f c + i g;  h⁺ = o tanh(c⁺), and logits = h₂ W_U at the query.
The second layer runs one position behind the first, so that both move in one wave: a single matrix product carries
(x_t, h₁, h₂) to the gates of both. A layer that stands before, behind or on padding keeps its state.

Embeddings start at N(0, κ), as PyTorch's do for κ = 1, other weights at N(0, κ/√d_in), biases at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.nn.functional as F

from ..ops.lookup import Plan, lookup
from ..settings import require, setting
from ..shapes import Bool
from .base import Model, Output, Parameter, models
from .parts import Dropout
from .parts.dropout import check_dropout

if TYPE_CHECKING:
    from torch import Tensor

    from ..randomness import Key
    from ..tasks import Shape

_GATES = 4  # i, f, o, g


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
                weights[name] = Parameter((width, _GATES * self.hidden), "matrix", std, "mlp")
            weights[f"b_{layer}"] = Parameter((_GATES * self.hidden,), "bias", 0.0, "mlp")
        std = self.kappa / math.sqrt(self.hidden)
        return weights | {"W_U": Parameter((self.hidden, shape.classes), "embedding", std, "readout")}

    def positions_computed(self, shape: Shape) -> int:
        return shape.length

    def forward(
        self, weights: dict[str, Tensor], inputs: Plan, *, training: bool = False, key: Key | None = None, **how: Any
    ) -> Output:
        sequences = inputs.by_token(len(weights["W_E"]))
        x = F.pad(lookup(weights["W_E"], sequences), (0, 0, 0, 1))  # example, wave, d; the last wave is layer 2's alone
        W, b = _both_layers(weights)
        h = c = torch.zeros(len(x), 2, self.hidden, dtype=x.dtype, device=x.device)
        for x_t, moves in zip(x.unbind(1), self._moves(sequences).unbind(1), strict=True):
            gates = torch.cat([x_t, h.flatten(1)], 1) @ W + b
            new_h, new_c = _cell(gates.to(x.dtype).unflatten(1, (2, _GATES, self.hidden)), c)
            h, c = torch.where(moves, new_h, h), torch.where(moves, new_c, c)
        return Output(Dropout(self.dropout, training, key)(h[:, 1]) @ weights["W_U"])

    def _moves(self, sequences: Plan) -> Bool[Tensor, "example wave layer 1"]:
        """Whether a layer moves in a wave: the first at the positions 0 … T−1, the second a wave later."""
        counts = torch.ones_like(sequences.row, dtype=torch.bool)
        if self.padding is not None:
            counts = sequences.row != self.padding
        return torch.stack([F.pad(counts, (0, 1)), F.pad(counts, (1, 0))], -1).unsqueeze(-1)


def _both_layers(weights: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """What carries (x, h₁, h₂) to the gates of layer 1, which sees x and h₁, and of layer 2, which sees h₁ and h₂."""
    from_x = torch.cat([weights["W_x1"], torch.zeros_like(weights["W_x1"])], 1)
    from_h1 = torch.cat([weights["W_h1"], weights["W_x2"]], 1)
    from_h2 = torch.cat([torch.zeros_like(weights["W_h2"]), weights["W_h2"]], 1)
    return torch.cat([from_x, from_h1, from_h2]), torch.cat([weights["b_1"], weights["b_2"]])


def _cell(gates: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """h⁺ and c⁺ [example layer hidden] from gates [example layer gate hidden]."""
    i, f, o = torch.sigmoid(gates[:, :, :3]).unbind(2)
    c = f * c + i * torch.tanh(gates[:, :, 3])
    return o * torch.tanh(c), c
