"""The transformer of grokking tickets, App. B.2 (after Nanda et al. 2023): one layer, one head, biases in the MLP, no LayerNorm.

e_j = E[token_j] + P[j];  ℓ_j = e_qᵀ M e_j / √d with M = W_Q W_Kᵀ;  x = e_q + (Σ_j α_j e_j W_V) W_O;
logits = (x + relu(x W_in + b_in) W_out + b_out) W_U.

The paper's sequences are the operands alone, and the last of them reads. Here the query "=" that closes every sequence has
neither embedding nor position, nothing attends to it, and the token before it is q: the same numbers. The attention to "="
is 0 and its logit, that of a zero vector, is 0.

Choices: the paper writes no 1/√d under the softmax; Nanda et al. have it, and so do the theory's logits. Positions start as
small as embeddings, since the paper reads both from one-hot tokens. Weights start at N(0, κ/√d_in), biases at 0. The authors' code
has neither positions nor biases: both can be left out.

What depends on a token and its position alone is a table, and W_in, W_U and the mean over positions commute: the work for
each example is a sum of rows that are d_mlp + classes wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
import torch.nn.functional as F

from ..ops.lookup import Plan, lookup, pool
from ..settings import require, setting
from ..shapes import Bool, Float
from ..theory import residual_lipschitz, spectral_norm
from .base import Model, Output, Parameter, models
from .parts import Dropout
from .parts.attention.softmax import Softmax
from .parts.base import in_full
from .parts.dropout import check_dropout

if TYPE_CHECKING:
    from torch import Tensor

    from ..randomness import Key
    from ..tasks import Shape


@models.register("tickets-transformer")
@dataclass(frozen=True, kw_only=True)
class TicketTransformer(Model):
    """One layer and one head with W_O and MLP biases, read at the last token before the query."""

    d: int = 500
    """Width of the residual stream."""
    d_mlp: int = 128
    """Hidden units of the MLP."""
    kappa: float = 1.0
    """κ, the scale of the initial weights."""
    dropout: float = setting(0.0, since=2)
    """Fraction of the MLP's hidden units that is set to 0 at random in a training step."""
    positions: bool = setting(True, since=3)
    """Whether every position adds an embedding P[j] of its own."""
    biases: bool = setting(True, since=3)
    """Whether the layers of the MLP add biases."""

    HOST: ClassVar[tuple[str, ...]] = ("kappa",)

    def check(self) -> None:
        for field in ("d", "d_mlp"):
            require(getattr(self, field) >= 1, field, f"{getattr(self, field)} is below 1")
        require(self.kappa > 0, "kappa", f"{self.kappa} is not above 0")
        check_dropout(self.dropout)

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        d, hidden = self.d, self.d_mlp
        tokens, places = shape.vocabulary - 1, max(shape.length, shape.test_length) - 1
        small, square, wide = (self.kappa / math.sqrt(d_in) for d_in in (tokens, d, hidden))
        every = {
            "W_E": Parameter((tokens, d), "embedding", small, "embed"),
            "W_pos": Parameter((places, d), "embedding", small, "embed"),
            **{name: Parameter((d, d), "matrix", square, "attention") for name in ("W_Q", "W_K", "W_V", "W_O")},
            "W_in": Parameter((d, hidden), "matrix", square, "mlp"),
            "b_in": Parameter((hidden,), "bias", 0.0, "mlp"),
            "W_out": Parameter((hidden, d), "matrix", wide, "mlp"),
            "b_out": Parameter((d,), "bias", 0.0, "mlp"),
            "W_U": Parameter((d, shape.classes), "embedding", square, "readout"),
        }
        left_out = (() if self.positions else ("W_pos",)) + (() if self.biases else ("b_in", "b_out"))
        return {name: parameter for name, parameter in every.items() if name not in left_out}

    def forward(
        self,
        weights: dict[str, Tensor],
        inputs: Plan,
        *,
        training: bool = False,
        key: Key | None = None,
        frozen: Tensor | None = None,
        offset: Tensor | None = None,
        detail: bool = False,
        every_position: bool = False,
    ) -> Output:
        e = self._embedded(weights, inputs)
        values = e @ weights["W_V"]
        reader = _reader(inputs, *e.shape[:2]).to(e.dtype)
        logits = self._attention_logits(weights, e, inputs, reader)
        if offset is not None:
            logits = logits + offset
        log_attention, attention = Softmax().weigh(logits, _is_query(logits), frozen)

        after = torch.cat([weights["W_in"], weights["W_U"]], 1)  # what reads the residual stream
        x = pool(_rows(values @ weights["W_O"] @ after), attention[:, 0], inputs) + reader @ (e[:, -1] @ after)
        to_mlp, straight = x[:, : self.d_mlp], x[:, self.d_mlp :]
        hidden = torch.relu(to_mlp + weights["b_in"] if self.biases else to_mlp)
        answer = straight + Dropout(self.dropout, training, key)(hidden) @ (weights["W_out"] @ weights["W_U"])
        if self.biases:
            answer = answer + weights["b_out"] @ weights["W_U"]
        if not detail:
            return Output(answer, attention, log_attention, logits)
        pooled = pool(_rows(values), attention[:, 0], inputs).unsqueeze(1)
        looked_up = lookup(_rows(values), inputs).unsqueeze(1)
        return Output(answer, attention, log_attention, logits, pooled, looked_up, lookup(_rows(e), inputs))

    def _embedded(self, weights: dict[str, Tensor], plan: Plan) -> Float[Tensor, "token place d"]:
        """e_j of every token at every place, without "=" and its place."""
        each = weights["W_E"][:, None]
        if self.positions:
            return each + weights["W_pos"]
        return each.expand(-1, plan.starts.shape[-1] // (len(each) + 1) - 1, -1)

    def _attention_logits(self, weights: dict[str, Tensor], e: Tensor, plan: Plan, reader: Tensor) -> Tensor:
        """ℓ [example, head, position]: of every token and place for every token that could read, then looked up."""
        directions = e[:, -1] @ weights["W_Q"] @ weights["W_K"].T  # reading token, d
        every = lookup(_rows(e @ directions.T) / math.sqrt(self.d), plan)  # example, position, reading token
        return (every * reader[:, None]).sum(-1).unsqueeze(1)

    def lipschitz(self, weights: dict[str, Tensor]) -> Tensor:
        return residual_lipschitz(weights["W_in"], weights["W_out"], weights["W_U"]) * spectral_norm(weights["W_O"])

    def value_norm(self, weights: dict[str, Tensor]) -> Tensor:
        return spectral_norm(weights["W_V"])

    def interaction_gradient(self, weights: dict[str, Tensor], plan: Plan, out: Output, gradient: Tensor) -> Tensor:
        assert out.stream is not None
        before_query = out.replace(stream=out.stream[:, :-1])
        return super().interaction_gradient(weights, plan, before_query, gradient[:, :, :-1])


def _rows(table: Float[Tensor, "token place width"]) -> Float[Tensor, "rows width"]:
    """A table as plans number its rows, with zeros for "=" and its place; in full precision, since look-ups sum rows."""
    return in_full(F.pad(table, (0, 0, 0, 1, 0, 1)).flatten(0, 1))


def _reader(plan: Plan, tokens: int, places: int) -> Tensor:
    """The token before the query, one-hot [example token]."""
    read = plan.row[:, -2] // (places + 1)
    return read[:, None] == torch.arange(tokens, device=read.device)


def _is_query(logits: Float[Tensor, "... position"]) -> Bool[Tensor, "position"]:
    """The last position, to which nothing attends."""
    return torch.arange(logits.shape[-1], device=logits.device) == logits.shape[-1] - 1
