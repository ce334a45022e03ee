"""Base class of position encodings: vectors added to the stream, a rotation of queries and keys, or a bias on attention logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....registry import Registry
from ....shapes import Float, Int
from ..base import Part

if TYPE_CHECKING:
    from torch import Tensor

position_encodings: Registry[type[PositionEncoding]] = Registry("position encoding", "grokscope.models.parts.positions")


@dataclass(frozen=True, kw_only=True)
class PositionEncoding(Part):
    """Base of all position encodings; each defines one of the three methods, or more. Count axes from the end.

    Places are counted back from the query, the last position, which is at 0: a longer sequence has new ones on its left.
    """

    def check_width(self, width: int) -> None:
        """Raise ConfigError if a head of this width is not supported."""

    def stream(self, weights: dict[str, Tensor], places: int) -> Float[Tensor, "place d"]:
        """The vectors added to the embeddings of tokens at each position, the query's last; zeros by default."""
        W_E = weights["W_E"]
        return W_E.new_zeros(*W_E.shape[:-2], places, W_E.shape[-1])

    def turn(
        self, x: Float[Tensor, "... position width"], back: Int[Tensor, "position"]
    ) -> Float[Tensor, "... position width"]:
        """Queries or keys, as attention compares them, of positions that are `back` before the query."""
        return x

    def bias(
        self, heads: int, query: Int[Tensor, "query"], back: Int[Tensor, "position"]
    ) -> Float[Tensor, "head query position"] | None:
        """The bias on the attention logits of queries and keys that are `query` and `back` before the last position."""
        return None
