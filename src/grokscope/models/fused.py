"""The fused path of a transformer: from attention weights to the loss in one operation, without storing the logits.

It replaces `forward` for one head that reads x = e_q + h into a ReLU MLP, without a norm before the MLP and without dropout.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch.func import vmap

from ..ops.lookup import Plan, distances, pool
from ..ops.query_attention import attend
from ..ops.readout_eval import evaluate_readout
from ..ops.readout_loss import mean_cross_entropy
from ..ops.triton import usable_on
from .base import Output
from .parts.attention.linear import Linear
from .parts.attention.softmax import Softmax
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

FUSED: dict[str, tuple[type, ...]] = {
    "attention": (Softmax, Linear),
    "positions": (Learned, Rotary, NoPositions),
    "norm_kind": (LayerNorm, RMSNorm),
    "mlp": (ReLU,),
    "readout": (Residual,),
}
"""The parts that this path was written for: it replaces the MLP and the readout, and calls the others on stacked runs."""


class Fused(Tables):
    """A transformer whose loss and evaluation are fused with its readout if its settings allow it."""

    scope: str
    d: int
    dropout: float
    readout_scale: float

    def supports_fused_loss(self, device: torch.device, precision: str, classes: int) -> bool:
        """Whether this is the network of `ops/readout_loss.py` and `ops/readout_eval.py`. On a GPU they round products to TF32 or
        bf16, and support only some sizes."""
        if self.scope != "query" or self.heads > 1 or self.dropout or "mlp" in PATHS[self.norm]:
            return False
        if any(type(getattr(self, name)) not in kinds for name, kinds in FUSED.items()):
            return False
        if device.type != "cuda":
            return precision != "bf16"
        if precision == "float32" or not usable_on(device):
            return False
        from ..ops.triton.readout import fits

        return fits(self.d, classes, precision, device)

    def fused_loss(
        self, weights: dict[str, Tensor], inputs: Plan, labels: Tensor, *, frozen: Tensor | None = None
    ) -> tuple[Tensor, Output]:
        if self._attends_by_hand(labels.device, frozen):
            *found, values = attend(weights, inputs)
            seen = AtQuery(*(t.unsqueeze(-2) for t in found))
        else:
            seen, values = self._attend(weights, inputs, frozen), self._values_with_query(weights, inputs)
        attention = seen.attention[..., 0, :]
        loss = mean_cross_entropy(
            values, attention, inputs, *_behind_attention(weights), labels, self.readout_scale, once=True
        )
        return loss, Output(self._deferred_logits(weights, inputs, frozen=frozen), *seen)

    def fused_eval(
        self,
        weights: dict[str, Tensor],
        inputs: Plan,
        labels: Tensor,
        *,
        frozen: Tensor | None = None,
        offset: Tensor | None = None,
        detail: bool = False,
    ) -> Output:
        seen, values = self._attend(weights, inputs, frozen, offset), self._values_with_query(weights, inputs)
        attention = seen.attention[:, 0]
        loss, correct = evaluate_readout(
            values, attention, inputs, *_behind_attention(weights), labels, self.readout_scale
        )
        logits = self._deferred_logits(weights, inputs, frozen=frozen, offset=offset)
        out = Output(logits, *seen, loss=loss, correct=correct)
        if not detail:
            return out
        table = self._table(weights, inputs, weights["W_V"], "value")
        pooled = pool(table, attention.detach(), inputs)
        return out.replace(pooled=pooled[:, None], distance=distances(table, pooled, inputs)[:, None])

    def _values_with_query(self, weights: dict[str, Tensor], plan: Plan) -> Tensor:
        """v_j + e_q: α sums to 1, so the query may be added to the values, in a small table instead of once per example."""
        return self._table(weights, plan, weights["W_V"], "value", plus=self._query(weights))

    def _attends_by_hand(self, device: torch.device, frozen: Tensor | None) -> bool:
        """Whether `attend` computes this model's attention; not used on a GPU, where graphs launch small operations."""
        usual = self.attention == Softmax() and self.positions == Learned()
        return device.type == "cpu" and usual and frozen is None and not PATHS[self.norm] & {"query-key", "value"}

    def _deferred_logits(self, weights: dict[str, Tensor], plan: Plan, **how: Tensor | None) -> Callable[[], Tensor]:
        """The logits that the fused path does not compute, on demand; of one run, or of each of several stacked runs."""

        def logits(weights: dict[str, Tensor], plan: Plan, how: dict[str, Tensor]) -> Tensor:
            return self.forward(weights, plan, **how).logits  # type: ignore[arg-type]

        given = {name: tensor for name, tensor in how.items() if tensor is not None}
        return partial(vmap(logits) if weights["W_E"].ndim > 2 else logits, weights, plan, given)


def _behind_attention(weights: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    return weights["W_in"], weights["W_out"], weights["W_U"]
