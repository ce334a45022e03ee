"""The fused path of a transformer: from attention weights to the loss in one operation, without storing the logits.

It replaces `forward` for one layer read at the query, x = e_q + h, a ReLU MLP behind a norm or none, and no dropout. Heads that
W_O mixes are one head with longer sequences: x = e_q + Σ_h Σ_j α_hj (v_hj W_O,h), so position j of head h reads a table of its own.
Gains and biases become part of what follows them, which has the size of the weights and not of the examples:
(g ⊙ N(x) + b) W_in + b_in = N(x) (g ⊙ W_in) + (b W_in + b_in), and (y + b_out) W_U = y W_U + b_out W_U.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.func import vmap

from ..ops import readout_stream
from ..ops.by_token import pool_apart
from ..ops.lookup import Plan, added, distances, pool, pool_heads
from ..ops.normalise import Normalise
from ..ops.pool_added import pool_added
from ..ops.query_attention import attend
from ..ops.readout_eval import evaluate_readout
from ..ops.readout_loss import mean_cross_entropy
from ..ops.triton import usable_on
from ..shapes import Float
from .base import Output
from .parts import Dropout, FeedForward
from .parts.attention.entmax import Entmax
from .parts.attention.hard_concrete import HardConcrete
from .parts.attention.linear import Linear
from .parts.attention.softmax import Softmax
from .parts.attention.stg import StochasticGates
from .parts.mlp.relu import ReLU
from .parts.norm.layer import LayerNorm
from .parts.norm.placement import PATHS
from .parts.norm.rms import RMSNorm
from .parts.positions.learned import Learned
from .parts.positions.none import NoPositions
from .parts.positions.rotary import Rotary
from .parts.readout.residual import Residual
from .tables import AtQuery, Tables

if TYPE_CHECKING:
    from torch import Tensor

    from ..randomness import Key

FUSED: dict[str, tuple[type, ...]] = {
    "attention": (Softmax, Linear, Entmax, StochasticGates, HardConcrete),
    "positions": (Learned, Rotary, NoPositions),
    "norm_kind": (LayerNorm, RMSNorm),
    "mlp": (ReLU,),
    "readout": (Residual,),
}
"""The parts that this path was written for: it replaces the MLP and the readout, and calls the others on stacked runs."""


class Fused(Tables):
    """A transformer whose loss and evaluation are fused with its readout if its settings allow it."""

    scope: str
    layers: int
    d: int
    dropout: float
    readout_scale: float
    mlp: FeedForward

    def supports_fused_loss(self, device: torch.device, precision: str, classes: int) -> bool:
        """Whether this is the network of `ops/readout_loss.py` and `ops/readout_eval.py`."""
        if (self.scope != "query" and self.layers > 1) or self.dropout:
            return False
        if any(type(getattr(self, name)) not in kinds for name, kinds in FUSED.items()):
            return False
        if device.type != "cuda":
            return precision != "bf16"
        return usable_on(device)

    def fused_loss(
        self,
        weights: dict[str, Tensor],
        inputs: Plan,
        labels: Tensor,
        *,
        frozen: Tensor | None = None,
        reads: Plan | None = None,
        key: Key | None = None,
    ) -> tuple[Tensor, Output]:
        values, drop = None, Dropout(self.dropout, key is not None, key)
        gates = self._log_gates(weights, inputs, drop)
        if self._attends_by_hand(weights["W_E"], frozen):
            *found, token, place = attend(weights, inputs)
            seen, values = AtQuery(*(t.unsqueeze(-2) for t in found)), (token, place)
        else:
            seen = self._attend(weights, inputs, frozen, gates)
        if self.forms_stream(labels.device):
            x = self._stream(weights, inputs, seen.attention, values)
            loss = readout_stream.mean_cross_entropy(x, *self._behind(weights, labels))
        else:
            table = self._values_with_query(weights, inputs) if values is None else added(*values)
            loss = mean_cross_entropy(*self._read_out(weights, table, seen, reads or inputs, labels), once=True)
        how = {"training": True, "key": key} if gates is not None else {}
        return loss, Output(self._deferred_logits(weights, inputs, how, frozen=frozen), *seen)

    def fused_eval(
        self,
        weights: dict[str, Tensor],
        inputs: Plan,
        labels: Tensor,
        *,
        frozen: Tensor | None = None,
        reads: Plan | None = None,
        offset: Tensor | None = None,
        detail: bool = False,
    ) -> Output:
        gates = self._log_gates(weights, inputs, Dropout(self.dropout, False, None))
        seen = self._attend(weights, inputs, frozen, sum_of(gates, offset))
        if self.forms_stream(labels.device):
            x = self._stream(weights, inputs, seen.attention)
            loss, correct = readout_stream.evaluate(x, *self._behind(weights, labels))
        else:
            values = self._values_with_query(weights, inputs)
            loss, correct = evaluate_readout(*self._read_out(weights, values, seen, reads or inputs, labels))
        logits = self._deferred_logits(weights, inputs, {}, frozen=frozen, offset=offset)
        out = Output(logits, *seen, loss=loss, correct=correct)
        if not detail:
            return out
        table = self._table(weights, inputs, weights["W_V"], "value").unflatten(-1, (self.heads, -1))
        tables = [table[:, head].contiguous() for head in range(self.heads)]
        attention = seen.attention.detach()
        pooled = [pool(own, attention[:, head], inputs) for head, own in enumerate(tables)]
        apart = [distances(own, h, inputs) for own, h in zip(tables, pooled, strict=True)]
        return out.replace(pooled=torch.stack(pooled, 1), distance=torch.stack(apart, 1))

    def _read_out(
        self, weights: dict[str, Tensor], values: Tensor, seen: AtQuery, plan: Plan, labels: Tensor
    ) -> tuple[
        Tensor, Tensor, Plan, Tensor, Tensor, Tensor, Tensor, float, Normalise | None, Tensor | None, Tensor | None
    ]:
        """The arguments of the readout's loss and evaluation, with all heads as one.

        plan   of all heads, or of one: then it is expanded here
        """
        attention = seen.attention.flatten(-2)
        if plan.row.shape[-1] != attention.shape[-1]:
            plan = plan.for_heads(self.heads)
        return values, attention, plan, *self._behind(weights, labels)

    def _behind(
        self, weights: dict[str, Tensor], labels: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, float, Normalise | None, Tensor | None, Tensor | None]:
        """What the readout needs besides x."""
        W_in, W_out, W_U = (weights[name] for name in ("W_in", "W_out", "W_U"))
        b_in, b_logits = None, None
        if "mlp" in PATHS[self.norm] and self.norm_kind.affine:
            if self.norm_kind.has_bias:
                b_in = _under(weights["bias_mlp"], W_in)
            W_in = weights["gain_mlp"].unsqueeze(-1) * W_in
        if self.mlp.bias:
            b_in = weights["b_in"] if b_in is None else b_in + weights["b_in"]
            b_logits = _under(weights["b_out"], W_U)
        return W_in, W_out, W_U, labels, self.readout_scale, self._before_mlp, b_in, b_logits

    def forms_stream(self, device: torch.device) -> bool:
        """On a GPU: there a product with W_O costs less than look-ups of full width for every head."""
        return usable_on(device)

    def _stream(
        self, weights: dict[str, Tensor], plan: Plan, attention: Tensor, values: tuple[Tensor, Tensor] | None = None
    ) -> Float[Tensor, "... example d"]:
        """x = e_q + h, or e_q + h W_O of all heads side by side.

        values   of one head, if they are known: those of tokens, and those of places with e_q
        """
        if self.heads == 1:
            values = values or self._values_apart(weights, plan)
            if values is None:
                return pool_heads(self._values_with_query(weights, plan), attention, plan)
            return pool_apart(*values, attention, plan)
        if "value" in PATHS[self.norm]:  # a bf16 product is looked up as it is
            h = pool_heads(self._normal_table(weights, plan, weights["W_V"]), attention, plan)
        else:
            h = pool_added(*self._apart(weights, plan, weights["W_V"]), attention, plan)
        add = torch.baddbmm if h.ndim == 3 else torch.addmm
        return add(self._query(weights).unsqueeze(-2).to(h.dtype), h, weights["W_O"])

    @property
    def _before_mlp(self) -> Normalise | None:
        if "mlp" not in PATHS[self.norm]:
            return None
        return Normalise("layer" if type(self.norm_kind) is LayerNorm else "rms", self.norm_kind.epsilon)

    def _values_with_query(self, weights: dict[str, Tensor], plan: Plan) -> Tensor:
        """v_j + e_q: α sums to 1, so the query may be added to the values, in a small table instead of once per example. With
        several heads, one table per head of v_j W_O + e_q / heads, one after another."""
        query, W_V = self._query(weights), weights["W_V"]
        if self.heads == 1:
            return self._table(weights, plan, W_V, "value", plus=query)
        W_O = weights["W_O"].unflatten(-2, (self.heads, -1)).float()  # head, width, d
        through = torch.einsum("...dhw,...hwe->...hde", W_V.unflatten(-1, (self.heads, -1)).float(), W_O)
        own = {name: weight.unsqueeze(-3) for name, weight in weights.items() if weight.ndim > 1}
        own |= {name: weights[name].unsqueeze(-2) for name in ("gain_attention", "bias_attention") if name in weights}
        return self._table(own, plan, through, "value", plus=(query / self.heads).unsqueeze(-2)).flatten(-3, -2)

    def _values_apart(self, weights: dict[str, Tensor], plan: Plan) -> tuple[Tensor, Tensor] | None:
        """The values of tokens, and those of places with e_q; None if a norm mixes both."""
        if "value" in PATHS[self.norm]:
            return None
        token, place = self._apart(weights, plan, weights["W_V"])
        return token, place + self._query(weights).unsqueeze(-2)

    def _attends_by_hand(self, W_E: Tensor, frozen: Tensor | None) -> bool:
        """Whether `attend` computes this model's attention: on a GPU of stacked runs, which need no vmap."""
        usual = self.heads == 1 and self.attention == Softmax() and self.positions == Learned()
        written = W_E.ndim == 3 or not W_E.is_cuda
        return written and usual and frozen is None and not PATHS[self.norm] & {"query-key", "value"}

    def _deferred_logits(
        self, weights: dict[str, Tensor], plan: Plan, how: dict[str, Any], **moved: Tensor | None
    ) -> Callable[[], Tensor]:
        """The logits that the fused path does not compute, on demand; of one run, or of each of several stacked runs.

        how     other arguments of `forward`
        moved   tensors of each run
        """

        def logits(weights: dict[str, Tensor], plan: Plan, moved: dict[str, Tensor]) -> Tensor:
            return self.forward(weights, plan, **how, **moved).logits  # type: ignore[arg-type]

        given = {name: tensor for name, tensor in moved.items() if tensor is not None}
        return partial(vmap(logits) if weights["W_E"].ndim > 2 else logits, weights, plan, given)


def sum_of(gates: Tensor | None, offset: Tensor | None) -> Tensor | None:
    """What is added to the attention logits."""
    return offset if gates is None else gates if offset is None else offset + gates


def _under(vector: Float[Tensor, "... d"], matrix: Float[Tensor, "... d out"]) -> Float[Tensor, "... out"]:
    """A vector times a matrix, in float32 whatever the precision of products."""
    return (vector.unsqueeze(-1) * matrix).sum(-2)
