"""The transformer of structural inference, §3.2: attention pools the sequence into h, a two-layer ReLU MLP reads it.

e_j = E[token_j] + P[j];  ℓ_j = e_qᵀ M e_j / √d with M = W_Q W_Kᵀ;  α = softmax(ℓ), or α_j ∝ relu(ℓ_j);  h = Σ_j α_j e_j W_V.
Read-outs: *minimal* (the theory's: logits = MLP(h)) and *residual* (the usual block: x = e_q + h, x + MLP(x), unembedding).

Choices where the paper is silent: no biases (the query's own embedding serves as one) and no LayerNorm; one head needs no
W_O, since W_V already is d × d; with several heads W_O mixes them in the residual read-out. Positions count back from the query.
With `scope = "query"` only the query attends, so keys and values are tables over (token, position): the same numbers as
full attention in one layer, at a fraction of the work.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..settings import require
from ..theory import residual_lipschitz, spectral_norm, two_layer_lipschitz
from .base import Model, Output, Parameter, models
from .lookup import Plan, lookup, pool, read_sums

if TYPE_CHECKING:
    from torch import Tensor

    from ..tasks import Shape

_TINY = 1e-9  # keeps linear attention a distribution when every logit is negative


@models.register("transformer")
@dataclass(frozen=True, kw_only=True)
class Transformer(Model):
    """A transformer with one layer or more, read at the query position."""

    d: int = 64
    """Width of the residual stream."""
    d_mlp: int = 256
    """Hidden units of the MLP."""
    heads: int = 1
    """Attention heads; each is d/heads wide."""
    layers: int = 1
    """Blocks of attention and MLP."""
    attention: Literal["softmax", "linear"] = "softmax"
    """softmax(ℓ), or linear ReLU attention α_j ∝ relu(ℓ_j)."""
    readout: Literal["residual", "minimal"] = "residual"
    """residual: x = e_q + h, x + MLP(x), unembedding; minimal: logits = MLP(h)."""
    scope: Literal["query", "causal"] = "query"
    """query: only the query attends; causal: every position attends to itself and what came before."""
    init_scale: float = 1.0
    """Factor on every weight at initialisation."""

    HOST: ClassVar[tuple[str, ...]] = ("init_scale",)

    def check(self) -> None:
        for field in ("d", "d_mlp", "heads", "layers"):
            require(getattr(self, field) >= 1, field, f"{getattr(self, field)} is below 1")
        require(self.d % self.heads == 0, "heads", f"{self.heads} heads do not divide d = {self.d}")
        require(self.init_scale > 0, "init_scale", f"{self.init_scale} is not above 0")
        require(
            self.layers == 1 or self.scope == "causal", "layers", 'more than one layer needs model.scope = "causal"'
        )
        require(
            self.layers == 1 or self.readout == "residual",
            "layers",
            'more than one layer needs model.readout = "residual"',
        )

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        d, hidden, scale = self.d, self.d_mlp, self.init_scale
        minimal = self.readout == "minimal"
        positions = max(shape.length, shape.test_length)
        weights = {
            "W_E": Parameter((shape.vocabulary, d), "embedding", scale / math.sqrt(d), "embed"),
            "W_pos": Parameter((positions, d), "embedding", scale / math.sqrt(d), "embed"),
        }
        for layer in range(self.layers):
            for name in ("W_Q", "W_K", "W_V"):
                weights[_of(name, layer)] = Parameter((d, d), "matrix", scale / math.sqrt(d), "attention")
            if self.heads > 1 and not minimal:
                weights[_of("W_O", layer)] = Parameter((d, d), "matrix", scale / math.sqrt(d), "attention")
            out = shape.classes if minimal else d
            weights[_of("W_in", layer)] = Parameter((d, hidden), "matrix", scale / math.sqrt(d), "mlp")
            weights[_of("W_out", layer)] = Parameter((hidden, out), "matrix", scale / math.sqrt(hidden), "mlp")
        if not minimal:
            weights["W_U"] = Parameter((d, shape.classes), "embedding", scale / math.sqrt(d), "readout")
        return weights

    def forward(
        self,
        weights: dict[str, Tensor],
        inputs: Plan,
        *,
        frozen: Tensor | None = None,
        offset: Tensor | None = None,
        detail: bool = False,
        every_position: bool = False,
    ) -> Output:
        table = _embeddings(weights)
        if self.scope == "query":
            return self._query_only(weights, table, inputs, frozen, offset, detail)
        return self._causal(weights, table, inputs, frozen, offset, detail, every_position)

    def _query_only(
        self,
        weights: dict[str, Tensor],
        table: Tensor,
        plan: Plan,
        frozen: Tensor | None,
        offset: Tensor | None,
        detail: bool,
    ) -> Output:
        query = table[-1, -1]
        rows = table.flatten(0, 1)
        key_side = weights["W_K"].unflatten(1, (self.heads, -1))  # d, head, width
        direction = torch.einsum("hw,dhw->dh", (query @ weights["W_Q"]).view(self.heads, -1), key_side)
        logits = lookup(_full(rows @ direction) / math.sqrt(self.d // self.heads), plan).mT  # example, head, position
        if offset is not None:
            logits = logits + offset
        log_attention, attention = self._normalise(logits, frozen)
        values = _full(rows @ weights["W_V"]).unflatten(1, (self.heads, -1))
        at_query = attention, log_attention, logits
        if self.heads == 1 and self.readout == "residual" and not detail:
            # α sums to 1, so the query may join the values: a small table instead of one addition an example
            x = pool(values[:, 0] + query, attention[:, 0], plan)
            return Output(self._unembed(x, weights), *at_query)
        pooled = torch.stack([pool(values[:, h], attention[:, h], plan) for h in range(self.heads)], 1)
        h = pooled.flatten(1)
        if self.readout == "minimal":
            answer = _mlp(h, weights, 0)
        else:
            answer = self._unembed(query + (h @ weights["W_O"] if self.heads > 1 else h), weights)
        if not detail:
            return Output(answer, *at_query)
        looked_up = lookup(values.flatten(1), plan).unflatten(2, (self.heads, -1)).transpose(1, 2)
        return Output(answer, *at_query, pooled, looked_up)

    def _unembed(self, x: Tensor, weights: dict[str, Tensor]) -> Tensor:
        return (x + _mlp(x, weights, 0)) @ weights["W_U"]

    def _causal(
        self,
        weights: dict[str, Tensor],
        table: Tensor,
        plan: Plan,
        frozen: Tensor | None,
        offset: Tensor | None,
        detail: bool,
        every_position: bool,
    ) -> Output:
        x = lookup(table.flatten(0, 1), plan)  # example, position, d
        length = x.shape[1]
        for layer in range(self.layers):
            last = layer == self.layers - 1
            readers = x if every_position or not last else x[:, -1:]
            q, k, v = (
                (s @ weights[_of(name, layer)]).unflatten(2, (self.heads, -1)).transpose(1, 2)
                for s, name in ((readers, "W_Q"), (x, "W_K"), (x, "W_V"))
            )  # example, head, position, width
            logits = _full(q @ k.mT) / math.sqrt(self.d // self.heads)
            if last and offset is not None:
                logits = torch.cat([logits[:, :, :-1], logits[:, :, -1:] + offset.unsqueeze(2)], 2)
            future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)[-readers.shape[1] :]
            log_attention, attention = self._normalise(
                logits, frozen.unsqueeze(1) if last and frozen is not None else None, future
            )
            pooled = attention @ v
            h = pooled.transpose(1, 2).flatten(2)
            if self.readout == "minimal":
                answer = _mlp(h, weights, layer)
            else:
                stream = x
                x = readers + (h @ weights[_of("W_O", layer)] if self.heads > 1 else h)
                x = x + _mlp(x, weights, layer)
                answer = x @ weights["W_U"] if last else x
        if not every_position:
            answer = answer.squeeze(1)
        at_query = (attention, log_attention, logits, pooled)[: 4 if detail else 3]
        details = (v, stream if self.readout == "residual" else x) if detail else ()
        return Output(answer, *(t[:, :, -1] for t in at_query), *details)

    def _normalise(self, logits: Tensor, frozen: Tensor | None, future: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """log α and α over the last axis; positions in `future` get none."""
        if frozen is not None:
            attention = frozen.unsqueeze(1).expand_as(logits)
            return attention.clamp_min(_TINY).log(), attention
        if self.attention == "softmax":
            if future is not None:
                logits = logits.masked_fill(future, -1e9)
            log_attention = torch.log_softmax(logits, -1)
            return log_attention, log_attention.exp()
        positive = torch.relu(logits) + _TINY
        if future is not None:
            positive = positive.masked_fill(future, _TINY * _TINY)
        attention = positive / positive.sum(-1, keepdim=True)
        return attention.log(), attention

    def lipschitz(self, weights: dict[str, Tensor]) -> Tensor:
        last = self.layers - 1
        W_in, W_out = weights[_of("W_in", last)], weights[_of("W_out", last)]
        if self.readout == "minimal":
            return two_layer_lipschitz(W_in, W_out)
        bound = residual_lipschitz(W_in, W_out, weights["W_U"])
        return bound * spectral_norm(weights[_of("W_O", last)]) if self.heads > 1 else bound

    def interaction_gradient(self, weights: dict[str, Tensor], plan: Plan, out: Output, gradient: Tensor) -> Tensor:
        if self.scope == "causal":
            return super().interaction_gradient(weights, plan, out, gradient)
        table = _embeddings(weights)
        key_sum = read_sums(gradient.mT, plan).mT @ table.flatten(0, 1)  # head, d
        return torch.einsum("q,hd->hqd", table[-1, -1], key_sum) / math.sqrt(self.d // self.heads)

    def embedding_norm(self, weights: dict[str, Tensor], plan: Plan, out: Output) -> Tensor:
        if self.scope == "causal":
            return super().embedding_norm(weights, plan, out)
        return (_embeddings(weights).flatten(0, 1).norm(dim=-1) * plan.is_read).amax()

    def sensitivity(self, out: Output) -> Tensor:
        assert out.attention is not None and out.attention_logits is not None
        if self.attention == "softmax":
            return out.attention
        total = (torch.relu(out.attention_logits) + _TINY).sum(-1, keepdim=True)
        return (out.attention_logits > 0) / total

    def value_norm(self, weights: dict[str, Tensor]) -> Tensor:
        return spectral_norm(weights[_of("W_V", self.layers - 1)])


def _full(product: Tensor) -> Tensor:
    """A bf16 product in float32: what is summed or exponentiated from here on is not rounded again."""
    return product.float() if product.dtype == torch.bfloat16 else product


def _embeddings(weights: dict[str, Tensor]) -> Tensor:
    """e of every token at every position [token, position, d]."""
    return weights["W_E"][:, None] + weights["W_pos"]


def _of(name: str, layer: int) -> str:
    """W_Q in the first layer, W_Q.1 in the second …"""
    return f"{name}.{layer}" if layer else name


def _mlp(x: Tensor, weights: dict[str, Tensor], layer: int) -> Tensor:
    return torch.relu(x @ weights[_of("W_in", layer)]) @ weights[_of("W_out", layer)]
