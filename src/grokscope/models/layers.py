"""Several layers of attention, or one that is read at every position.

What the first layer reads depends on (token, position) alone: its queries, keys and values are rows of a table. In a causal network
the first position attends to nothing but itself: in every layer it depends on its token alone, and is computed once per symbol
instead of once per example. Two layers save 30 % of their products on a CPU; a GPU gained nothing from tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from ..ops.lookup import Plan, lookup
from ..ops.lookup import plan as planned
from ..ops.short import weighted_sum
from ..shapes import Float, Int
from .base import Output, is_examplewise
from .bounds import Bounded, layer_weights
from .parts import Attention, Dropout
from .parts.base import times
from .parts.norm.placement import PATHS
from .tables import places_back

if TYPE_CHECKING:
    from torch import Tensor

ROWS, FIRST = "shared rows", "shared first"
"""Names of the tables of `shared`, beside those of the weights."""
_NO_DROPOUT = Dropout(0.0, False, None)
_NO_GATES = Attention.log_gates
_FEWER = 2
"""A table pays off from this many times fewer rows than vectors: looking up takes time, too."""


class _Reads(NamedTuple):
    """Queries, keys and values, with all heads side by side."""

    q: Float[Tensor, "example query d"]
    k: Float[Tensor, "example position d"]
    v: Float[Tensor, "example position d"]

    def behind(self, first: Float[Tensor, "example 1 both"]) -> _Reads:
        """With keys and values of the first position in front."""
        k, v = first.chunk(2, -1)
        return self._replace(k=torch.cat([k, self.k], 1), v=torch.cat([v, self.v], 1))


class _Block(NamedTuple):
    """What a layer computes at some positions."""

    x: Float[Tensor, "example query d"]
    """What the MLP reads."""
    hidden: Float[Tensor, "example query neuron"]
    written: Float[Tensor, "example query d"]
    """What the MLP adds."""
    attention: Float[Tensor, "example head query position"]
    log_attention: Float[Tensor, "example head query position"]
    logits: Float[Tensor, "example head query position"]
    pooled: Float[Tensor, "example head query width"]


class Layers(Bounded):
    """A transformer that computes every position; in its last layer only the query, if no other answer is asked for."""

    scope: str

    def _every_layer(
        self,
        weights: dict[str, Tensor],
        plan: Plan,
        frozen: Tensor | None,
        offset: Tensor | None,
        detail: bool,
        every_position: bool,
        drop: Dropout,
    ) -> Output:
        if ROWS not in weights:
            weights = weights | self.shared(weights, plan, len(plan.row), drop.training and drop.rate > 0)
        x, *at_start = lookup(weights[ROWS], plan).split(self.d, -1)  # each: example, position, d
        back = places_back(x.shape[1], x.device)
        begin = int(f"{FIRST}.1" in weights and not (detail or every_position))
        x = x[:, begin:]
        for layer in range(self.layers):
            last, own = layer == self.layers - 1, layer_weights(weights, layer)
            reading = slice(None) if every_position or not last else slice(-1, None)
            if layer == 0 and at_start:
                q, k, v = at_start
                reads = _Reads(q[:, begin:][:, reading], k, v)
            else:
                reads = self._reads(x, own, reading)
                if begin:
                    reads = reads.behind(lookup(own[FIRST], _symbols(plan, own)))
            gates = self._log_gates(own, plan, drop, layer)
            at_query = (offset, frozen) if last else (None, None)
            block = self._block(x[:, reading], reads, own, back[begin:][reading], back, drop, layer, gates, *at_query)
            if not last:
                x = block.x + block.written
        answer = self._answer(block.x, block.written, own)
        answer = answer if every_position else answer.squeeze(1)
        seen = (block.attention, block.log_attention, block.logits, block.pooled)[: 4 if detail else 3]
        details = (self._by_head(reads.v), x, block.hidden[:, -1]) if detail else ()
        out = Output(answer, *(t[:, :, -1] for t in seen), *details)
        if not detail:
            return out
        return out.replace(prelogits=self.readout.prelogits(block.x[:, -1], block.written[:, -1]))

    def _block(
        self,
        x: Float[Tensor, "example query d"],
        reads: _Reads,
        weights: dict[str, Tensor],
        query: Int[Tensor, "query"],
        back: Int[Tensor, "position"],
        drop: Dropout = _NO_DROPOUT,
        layer: int = 0,
        gates: Float[Tensor, "example 1 position"] | None = None,
        offset: Float[Tensor, "example head position"] | None = None,
        frozen: Float[Tensor, "example position"] | None = None,
    ) -> _Block:
        """Attention and MLP of a layer at the positions that are `query` before the last, looking at those that are `back`.

        offset, frozen   as in `Model.forward`, at the last of these positions
        """
        q, k, v = (self._by_head(t) for t in reads)
        logits = self._compare(q, k, weights, query, back)
        if gates is not None:
            logits = logits + gates.unsqueeze(2)
        if offset is not None:
            logits = torch.cat([logits[:, :, :-1], logits[:, :, -1:] + offset.unsqueeze(2)], 2)
        instead = None if frozen is None else frozen.unsqueeze(frozen.ndim - 1)
        later = back < query[:, None] if self.scope == "causal" else None
        log_attention, attention = self.attention.weigh(logits, later, instead)
        pooled = weighted_sum(attention, v)
        x = self._joined(x, pooled.transpose(1, 2).flatten(2), weights)
        hidden = drop(self._hidden(x, weights), layer)
        return _Block(x, hidden, self.mlp.output(hidden, weights), attention, log_attention, logits, pooled)

    def _by_head(self, t: Float[Tensor, "example position d"]) -> Float[Tensor, "example head position width"]:
        return t.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def _reads(
        self, x: Float[Tensor, "example position d"], weights: dict[str, Tensor], reading: slice = slice(None)
    ) -> _Reads:
        """What attention reads of the stream; queries of the positions in `reading` alone."""
        for_keys, for_values = self._attention_reads(x, weights)
        sources = ((for_keys[:, reading], "W_Q"), (for_keys, "W_K"), (for_values, "W_V"))
        return _Reads(*(times(source, weights[name]) for source, name in sources))

    def shared(self, weights: dict[str, Tensor], plan: Plan, examples: int, drops: bool = False) -> dict[str, Tensor]:
        """The stream of every token at every position, and side by side with it what the first layer reads of it; for each later
        layer, keys and values of every symbol at the first position. What costs more than it saves is left out.

        drops   whether hidden units are dropped, which differ from example to example
        """
        rows, length = self._rows(weights, plan), plan.row.shape[-1]
        if not _pays(len(rows), examples * length, rows):
            return {ROWS: rows}
        reads = self._reads(rows.unsqueeze(1), weights)
        found = {ROWS: torch.cat([rows, *(each.squeeze(1) for each in reads)], -1)}
        symbols = len(weights["W_E"])
        alone = self.scope == "causal" and length > 1 and not drops and type(self.attention).log_gates is _NO_GATES
        if self.layers == 1 or not alone or not _pays(symbols, examples, rows) or not is_examplewise(self):
            return found
        back = places_back(length, rows.device)[:1]
        first = found[ROWS].unflatten(0, (symbols, -1))[:, -length, None]
        x, *at_start = first.split(self.d, -1)
        reads = _Reads(*at_start)
        for layer in range(1, self.layers):
            block = self._block(x, reads, layer_weights(weights, layer - 1), back, back)
            x = block.x + block.written
            reads = self._reads(x, layer_weights(weights, layer))
            found[f"{FIRST}.{layer}"] = torch.cat(reads[1:], -1).squeeze(1)
        return found

    def _hidden(self, x: Tensor, weights: dict[str, Tensor]) -> Tensor:
        return self.mlp.hidden(self._normal("mlp", x, weights) if "mlp" in PATHS[self.norm] else x, weights)

    def _answer(self, x: Tensor, written: Tensor, weights: dict[str, Tensor]) -> Tensor:
        answer = self.readout.logits(x, written, weights)
        return answer if self.readout_scale == 1 else self.readout_scale * answer


def _symbols(plan: Plan, weights: dict[str, Tensor]) -> Plan:
    """Which symbol each example begins with."""
    symbols = len(weights["W_E"])
    places = plan.starts.shape[-1] // symbols
    return planned(plan.row[:, :1] // places, symbols, 1)


def _pays(rows: int, vectors: int, like: Tensor) -> bool:
    """Whether a table of so many rows costs less than products of all vectors: not on a GPU. Sums of rows that are rounded to bf16
    would be wrong."""
    return _FEWER * rows <= vectors and not (like.is_cuda or torch.is_autocast_enabled(like.device.type))
