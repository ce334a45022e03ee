"""The MLP of grokking tickets, Eq. 1 (after Liu et al. 2022): the embeddings of all tokens are summed, then one hidden layer.

softmax(relu((E_a + E_b) W_in) W_out W_unemb), without biases and without positions. Every weight starts at
N(0, κ/√d_in), where d_in is the width that the weight reads; an embedding reads one-hot tokens, so its d_in is their number.
The authors' code for Table 1 draws the embedding alone by Kaiming's rule for ReLU, √2 times as large (embed_init = "kaiming").
The query "=" carries no information and is omitted from the sum. It has no embedding, so that no weight is idle when weights are
counted, pruned or compared.

W_in and the sum commute: a table E W_in over the tokens is summed by look-up, and W_out W_unemb is one small matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
import torch.nn.functional as F

from ..ops.lookup import Plan, pool
from ..settings import require, setting
from .base import Model, Neurons, Output, Parameter, models
from .parts import Dropout
from .parts.base import in_full
from .parts.dropout import check_dropout

if TYPE_CHECKING:
    from torch import Tensor

    from ..randomness import Key
    from ..tasks import Shape


@models.register("embedding-mlp")
@dataclass(frozen=True, kw_only=True)
class EmbeddingMLP(Model):
    """One hidden layer on the sum of the tokens' embeddings; it does not see their order."""

    d: int = 500
    """Width of the embeddings."""
    d_mlp: int = 48
    """Hidden neurons."""
    kappa: float = 1.0
    """κ, the scale of the initial weights."""
    dropout: float = setting(0.0, since=2)
    """Fraction of the hidden neurons that is set to 0 at random in a training step."""

    embed_init: Literal["normal", "kaiming"] = setting("normal", since=3)
    """Initial embeddings: N(0, κ/√d_in) as all weights, or N(0, κ√(2/d_in)), as torch.nn.init.kaiming_normal_."""

    has_attention: ClassVar[bool] = False
    HOST: ClassVar[tuple[str, ...]] = ("kappa", "embed_init")

    def check(self) -> None:
        for field in ("d", "d_mlp"):
            require(getattr(self, field) >= 1, field, f"{getattr(self, field)} is below 1")
        require(self.kappa > 0, "kappa", f"{self.kappa} is not above 0")
        check_dropout(self.dropout)

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        tokens = shape.vocabulary - 1
        gain = self.kappa * (math.sqrt(2) if self.embed_init == "kaiming" else 1.0)
        return {
            "W_E": Parameter((tokens, self.d), "embedding", gain / math.sqrt(tokens), "embed"),
            "W_in": Parameter((self.d, self.d_mlp), "matrix", self.kappa / math.sqrt(self.d), "mlp"),
            "W_out": Parameter((self.d_mlp, self.d), "matrix", self.kappa / math.sqrt(self.d_mlp), "mlp"),
            "W_U": Parameter((self.d, shape.classes), "embedding", self.kappa / math.sqrt(self.d), "readout"),
        }

    def forward(
        self, weights: dict[str, Tensor], inputs: Plan, *, training: bool = False, key: Key | None = None, **how: Any
    ) -> Output:
        reads, writes = _reads(weights), _writes(weights)
        table = F.pad(reads, (0, 0, 0, 1))  # nothing to read from "=", the last token
        sequences = inputs.by_token(len(table))
        each = torch.ones(sequences.shape, dtype=table.dtype, device=table.device)
        hidden = torch.relu(pool(table, each, sequences))
        return Output(Dropout(self.dropout, training, key)(hidden) @ writes)

    def neurons(self, weights: dict[str, Tensor]) -> Neurons:
        """Of the operands: the first tokens, as many as there are classes."""
        writes = _writes(weights)
        return Neurons(_reads(weights)[: writes.shape[1]].T, writes)


def _reads(weights: dict[str, Tensor]) -> Tensor:
    """E W_in [token neuron]; in full precision, since look-ups sum what they read."""
    return in_full(weights["W_E"] @ weights["W_in"])


def _writes(weights: dict[str, Tensor]) -> Tensor:
    """W_out W_unemb [neuron class]."""
    return weights["W_out"] @ weights["W_U"]
