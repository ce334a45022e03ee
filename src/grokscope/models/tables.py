"""Quantities that depend on a token and its position alone, as tables: embeddings, keys, values, attention logits.

If only the query attends, the work per example is to look up rows and to sum them. Axes are counted from
the end: for one head the weights may be those of stacked runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch

from ..ops.lookup import Plan, added, lookup
from ..ops.normal_rows import normal_rows
from ..ops.normalise import Normalise
from ..ops.scaled_norm import scaled_norm
from ..ops.triton import usable_on
from ..shapes import Float, Int
from .base import Model
from .parts import Attention, Dropout, Norm, PositionEncoding
from .parts.base import in_full
from .parts.norm.layer import LayerNorm
from .parts.norm.placement import PATHS, Placement, Site
from .parts.norm.rms import RMSNorm

if TYPE_CHECKING:
    from torch import Tensor

_DOT_PRODUCT, _NO_TURN, _NO_BIAS = Attention.logits, PositionEncoding.turn, PositionEncoding.bias
_LAYER, _RMS, _NORM, _AT, _SCALED = LayerNorm.centred, RMSNorm.centred, Norm.__call__, Norm.at, Norm.scaled
"""The functions as defined here: a patch of one of them must be detected, too."""


class AtQuery(NamedTuple):
    """Attention of the query in the last layer, as in `Output`."""

    attention: Float[Tensor, "... example head position"]
    log_attention: Float[Tensor, "... example head position"]
    logits: Float[Tensor, "... example head position"]


class Tables(Model):
    """A model whose first layer of attention reads embeddings of tokens and positions."""

    heads: int
    attention: Attention
    positions: PositionEncoding
    norm: Placement
    norm_kind: Norm

    def _query(self, weights: dict[str, Tensor]) -> Float[Tensor, "... d"]:
        """e_q: the last token at the last position."""
        return weights["W_E"][..., -1, :] + self.positions.stream(weights, 1)[..., -1, :]

    def _rows(self, weights: dict[str, Tensor], plan: Plan) -> Float[Tensor, "... row d"]:
        """e of every token at every position."""
        place = self.positions.stream(weights, _places(weights, plan))
        return (weights["W_E"].unsqueeze(-2) + place.unsqueeze(-3)).flatten(-3, -2)

    def _normal_table(
        self, weights: dict[str, Tensor], plan: Plan, matrix: Float[Tensor, "... d out"]
    ) -> Float[Tensor, "... row out"]:
        """What attention reads of every token at every position, under a matrix. A gain and a bias are taken into the matrix and
        its result: (g ⊙ N(e) + b) W = N(e) (g ⊙ W) + b W."""
        norm, W_E = self._written_norm, weights["W_E"]
        if norm is None:
            return self.norm_kind.at("attention", self._rows(weights, plan), weights) @ matrix
        if type(self)._rows is Tables._rows and usable_on(W_E.device):
            rows = normal_rows(W_E, self.positions.stream(weights, _places(weights, plan)), norm)
        else:
            rows = self.norm_kind(self._rows(weights, plan))
        if not self.norm_kind.affine:
            return rows @ matrix
        table = rows @ (weights["gain_attention"].unsqueeze(-1) * matrix)
        return table + (weights["bias_attention"].unsqueeze(-2) @ matrix) if self.norm_kind.has_bias else table

    def _normal_query(self, weights: dict[str, Tensor]) -> Float[Tensor, "... d"]:
        """g ⊙ N(e_q) + b, or N(e_q)"""
        norm, W_E = self._written_norm, weights["W_E"]
        if norm is None or type(self)._query is not Tables._query or not usable_on(W_E.device):
            return self.norm_kind.at("attention", self._query(weights), weights)
        place = self.positions.stream(weights, 1)[..., -1:, :]
        query = normal_rows(W_E[..., -1:, :], place, norm).squeeze(-2)
        return self.norm_kind.scaled("attention", query, weights)

    def _normal(self, site: Site, x: Float[Tensor, "... d"], weights: dict[str, Tensor]) -> Float[Tensor, "... d"]:
        """g ⊙ N(x) + b, or N(x), of the vectors of every example."""
        norm = self._written_norm
        if norm is None or not usable_on(x.device):
            return self.norm_kind.at(site, x, weights)
        own = (weights[f"{name}_{site}"] if there else None for name, there in self._vectors_of_norm)
        return scaled_norm(x, norm, *own)

    @property
    def _vectors_of_norm(self) -> tuple[tuple[str, bool], tuple[str, bool]]:
        """Whether norms have a gain, and whether they have a bias."""
        kind = self.norm_kind
        return ("gain", kind.affine), ("bias", kind.affine and kind.has_bias)

    @property
    def _written_norm(self) -> Normalise | None:
        """The norm before attention without its gain and bias, if it is one that `ops/normalise.py` computes."""
        kind = type(self.norm_kind)
        changed = kind.__call__ is not _NORM or kind.at is not _AT or kind.scaled is not _SCALED
        if changed or kind.centred not in (_LAYER, _RMS):
            return None
        return Normalise("layer" if kind.centred is _LAYER else "rms", self.norm_kind.epsilon)

    def _table(
        self, weights: dict[str, Tensor], plan: Plan, matrix: Tensor, path: str, plus: Tensor | None = None
    ) -> Float[Tensor, "... row out"]:
        """What every token at every position becomes under a matrix, `plus` a vector; without a norm in between, the sum of
        what the token and the position become."""
        if path in PATHS[self.norm]:
            table = in_full(self._normal_table(weights, plan, matrix))
            return table if plus is None else table + plus.unsqueeze(-2)
        token, place = self._apart(weights, plan, matrix)
        return added(token, place if plus is None else place + plus.unsqueeze(-2))

    def _apart(self, weights: dict[str, Tensor], plan: Plan, matrix: Tensor) -> tuple[Tensor, Tensor]:
        """What every token and what every position becomes under a matrix, without a norm in between."""
        place = in_full(self.positions.stream(weights, _places(weights, plan)) @ matrix)
        return in_full(weights["W_E"] @ matrix), place

    def _attend(
        self, weights: dict[str, Tensor], plan: Plan, frozen: Tensor | None = None, offset: Tensor | None = None
    ) -> AtQuery:
        """What the query attends to."""
        query = self._normal_query(weights) if "query-key" in PATHS[self.norm] else self._query(weights)
        q = (query.unsqueeze(-2) @ weights["W_Q"]).squeeze(-2).unflatten(-1, (self.heads, -1))  # head, width
        table = self._folded_logits(weights, plan, q) if self._folds else self._compared_logits(weights, plan, q)
        logits = lookup(table, plan).mT
        if offset is not None:
            logits = logits + offset
        log_attention, attention = self.attention.weigh(logits, frozen=frozen)
        return AtQuery(attention, log_attention, logits)

    def _log_gates(self, weights: dict[str, Tensor], plan: Plan, drop: Dropout, layer: int = 0) -> Tensor | None:
        """What the attention of a layer adds to its logits [example head position]."""
        examples, positions = plan.row.shape[-2:]
        gates = self.attention.log_gates(
            weights, examples, positions, training=drop.training, key=drop.key, layer=layer
        )
        return None if gates is None else gates.unsqueeze(1)

    @property
    def _folds(self) -> bool:
        """Whether logits are plain dot products: then the query is multiplied into W_K, and keys are never formed."""
        places = type(self.positions)
        plain = places.turn is _NO_TURN and places.bias is _NO_BIAS
        return plain and type(self.attention).logits is _DOT_PRODUCT

    def _folded_logits(self, weights: dict[str, Tensor], plan: Plan, q: Tensor) -> Float[Tensor, "... row head"]:
        """e_j · (W_K q) / √width"""
        W_K = weights["W_K"].unflatten(-1, (self.heads, -1))  # d, head, width
        direction = torch.einsum("...hw,...dhw->...dh", q, W_K)
        return self._table(weights, plan, direction / math.sqrt(q.shape[-1]), "query-key")

    def _compared_logits(self, weights: dict[str, Tensor], plan: Plan, q: Tensor) -> Float[Tensor, "... row head"]:
        """The attention's own comparison of the query with the key of every token at every position."""
        back = places_back(_places(weights, plan), q.device)
        keys = self._table(weights, plan, weights["W_K"], "query-key")
        k = keys.unflatten(-2, (-1, len(back))).unflatten(-1, (self.heads, -1)).transpose(-3, -2)
        logits = self._compare(q.unsqueeze(-2).unsqueeze(-4), k, weights, back[-1:], back)  # token, head, 1, place
        return logits.squeeze(-2).transpose(-2, -1).flatten(-3, -2)

    def _compare(
        self,
        q: Float[Tensor, "... head query width"],
        k: Float[Tensor, "... head position width"],
        weights: dict[str, Tensor],
        query: Int[Tensor, "query"],
        back: Int[Tensor, "position"],
    ) -> Float[Tensor, "... head query position"]:
        """Attention logits of queries and keys that are `query` and `back` before the last position."""
        logits = self.attention.logits(self.positions.turn(q, query), self.positions.turn(k, back), weights)
        bias = self.positions.bias(self.heads, query, back)
        return logits if bias is None else logits + bias


def places_back(count: int, device: torch.device) -> Int[Tensor, "position"]:
    """How far each of the last `count` positions is before the query: … 2, 1, 0."""
    return torch.arange(count - 1, -1, -1, device=device)


def _places(weights: dict[str, Tensor], plan: Plan) -> int:
    """Positions of the table: those of the longest sequence."""
    return plan.starts.shape[-1] // weights["W_E"].shape[-2]
