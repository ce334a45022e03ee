"""The transformer of structural inference, §3.2: attention pools the sequence into h, a two-layer MLP reads it.

e_j = E[token_j] + P[j];  ℓ_j = e_qᵀ M e_j / √d with M = W_Q W_Kᵀ;  α = softmax(ℓ);  h = Σ_j α_j e_j W_V.
Other kinds of attention, positions, norm, MLP and readout are chosen by name (`parts/`).

Choices where the paper is silent: no biases (the query's own embedding serves as one); one head needs no W_O, since W_V already
is d × d; with several heads W_O mixes them in the residual stream. Positions count back from the query.
With `scope = "query"` only the query attends, so keys and values are tables over (token, position): the same numbers as
full attention in one layer, at a fraction of the work.

Normalisation (inductive bias) is applied before a matrix, never on the residual stream. By default it has no gain and no bias of
its own: the matrix behind it can hold any gain, and so W_Q, W_K, W_V and W_in mean the same with and without it. The readout
scale multiplies the logits and leaves the initial weights alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..ops.lookup import Plan, lookup, pool
from ..settings import component, require, setting
from .base import MOST_LAYERS, Output, Parameter, models
from .bounds import layer_weights
from .fused import Fused, sum_of
from .layers import Layers
from .parts import (
    Attention,
    Dropout,
    FeedForward,
    Norm,
    PositionEncoding,
    Readout,
    Sizes,
    attentions,
    mlps,
    norms,
    position_encodings,
    readouts,
)
from .parts.attention.softmax import Softmax
from .parts.dropout import check_dropout
from .parts.mlp.relu import ReLU
from .parts.norm.layer import LayerNorm
from .parts.norm.placement import PATHS, SITES, Placement
from .parts.positions.learned import Learned
from .parts.readout.residual import Residual

if TYPE_CHECKING:
    from torch import Tensor

    from ..randomness import Key
    from ..tasks import Shape


@models.register("transformer")
@dataclass(frozen=True, kw_only=True)
class Transformer(Fused, Layers):
    """A transformer with one layer or more, read at the query position."""

    d: int = 64
    """Width of the residual stream."""
    d_mlp: int = 256
    """Hidden units of the MLP."""
    heads: int = 1
    """Attention heads; each is d/heads wide."""
    layers: int = 1
    """Blocks of attention and MLP."""
    attention: Attention = component(attentions, Softmax)
    """How attention logits become weights: softmax(ℓ/τ), linear ReLU attention α_j ∝ relu(ℓ_j), sparse attention, or a softmax with
    gates on positions."""
    positions: PositionEncoding = component(position_encodings, Learned, since=2)
    """How positions are encoded: learned vectors, rotary queries and keys, or not at all."""
    mlp: FeedForward = component(mlps, ReLU, since=2)
    """The MLP behind attention."""
    readout: Readout = component(readouts, Residual)
    """residual: x = e_q + h, x + MLP(x), unembedding; minimal: logits = MLP(h)."""
    scope: Literal["query", "causal", "full"] = "query"
    """query: only the query attends; causal: every position attends to itself and earlier positions; full: to all positions."""
    init_scale: float = 1.0
    """Factor on every weight at initialisation."""
    norm: Placement = "none"
    """Where vectors are normalised: nowhere, before attention (queries, keys and values), the MLP, both, queries and keys alone,
    values alone."""
    norm_kind: Norm = component(norms, LayerNorm)
    """How they are normalised."""
    readout_scale: float = 1.0
    """Fixed factor on the logits; large values are the usual way to make training lazy."""
    dropout: float = setting(0.0, since=2)
    """Fraction of the MLP's hidden units that is set to 0 at random, in every layer and training step."""

    examplewise: ClassVar[bool] = True
    HOST: ClassVar[tuple[str, ...]] = ("init_scale",)

    def check(self) -> None:
        for field in ("d", "d_mlp", "heads"):
            require(getattr(self, field) >= 1, field, f"{getattr(self, field)} is below 1")
        require(1 <= self.layers <= MOST_LAYERS, "layers", f"{self.layers} is outside 1 … {MOST_LAYERS}")
        require(self.d % self.heads == 0, "heads", f"{self.heads} heads do not divide d = {self.d}")
        for field in ("init_scale", "readout_scale"):
            require(getattr(self, field) > 0, field, f"{getattr(self, field)} is not above 0")
        check_dropout(self.dropout)
        self.positions.check_width(self.d // self.heads)
        if self.layers > 1:
            several = 'more than one layer needs model.scope = "causal" or "full"'
            require(self.scope != "query", "layers", several)
            require(self.readout.residual, "layers", 'more than one layer needs model.readout = "residual"')

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        d, std = self.d, self.init_scale / math.sqrt(self.d)
        out = d if self.readout.residual else shape.classes
        positions = max(shape.length, shape.test_length)
        sizes = Sizes(shape.vocabulary, positions, shape.classes, d, self.d_mlp, out, self.heads, self.init_scale)
        square = ("W_Q", "W_K", "W_V", "W_O") if self._mixes_heads else ("W_Q", "W_K", "W_V")
        block = {name: Parameter((d, d), "matrix", std, "attention") for name in square}
        block |= self.attention.parameters(sizes) | self.mlp.parameters(sizes)
        apart = {name: own for name, own in block.items() if own.lr is not None}
        block = {name: own for name, own in block.items() if own.lr is None}
        weights = {"W_E": Parameter((shape.vocabulary, d), "embedding", std, "embed")}
        weights |= self.positions.parameters(sizes)
        for layer in range(self.layers):
            weights |= _of_layer(block, layer)
        weights |= self.readout.parameters(sizes)
        # last, so that the other weights are drawn alike wherever a norm stands, and with and without gates
        at_sites = [self.norm_kind.parameters_at(site, sizes) for site in SITES if PATHS[self.norm] & SITES[site]]
        for layer in range(self.layers):
            for own in (*at_sites, apart):
                weights |= _of_layer(own, layer)
        return weights

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
        drop = Dropout(self.dropout, training, key)
        if self._reads_query_only(every_position):
            shifted = sum_of(self._log_gates(weights, inputs, drop), offset)
            return self._query_only(weights, inputs, frozen, shifted, detail, drop)
        return self._every_layer(weights, inputs, frozen, offset, detail, every_position, drop)

    def penalty(self, weights: dict[str, Tensor]) -> Tensor | None:
        """The sum of the penalties of all layers' attention."""
        each = (self.attention.penalty(layer_weights(weights, layer)) for layer in range(self.layers))
        found = [own for own in each if own is not None]
        return torch.stack(found).sum() if found else None

    def _reads_query_only(self, every_position: bool) -> bool:
        """Of one causal layer, only the query's attention reaches the answer."""
        return self.scope == "query" or (self.layers == 1 and not every_position)

    def positions_computed(self, shape: Shape) -> int:
        return 1 if self._reads_query_only(shape.every_position) else shape.length

    def _query_only(
        self,
        weights: dict[str, Tensor],
        plan: Plan,
        frozen: Tensor | None,
        offset: Tensor | None,
        detail: bool,
        drop: Dropout,
    ) -> Output:
        seen = self._attend(weights, plan, frozen, offset)
        values = self._table(weights, plan, weights["W_V"], "value").unflatten(1, (self.heads, -1))
        heads = [pool(values[:, h], seen.attention[:, h], plan) for h in range(self.heads)]
        pooled = heads[0].unsqueeze(1) if self.heads == 1 else torch.stack(heads, 1)
        x = self._joined(self._query(weights), pooled.flatten(1), weights)
        hidden = drop(self._hidden(x, weights))
        written = self.mlp.output(hidden, weights)
        answer = self._answer(x, written, weights)
        if not detail:
            return Output(answer, *seen)
        looked_up = lookup(values.flatten(1), plan).unflatten(2, (self.heads, -1)).transpose(1, 2)
        return Output(answer, *seen, pooled, looked_up, hidden=hidden, prelogits=self.readout.prelogits(x, written))


def _of_layer(parameters: dict[str, Parameter], layer: int) -> dict[str, Parameter]:
    """Under the names of that layer: W_Q is W_Q.1 in the second."""
    return {f"{name}.{layer}" if layer else name: own for name, own in parameters.items()}
