"""No positions: the query alone tells apart which token it is."""

from __future__ import annotations

from dataclasses import dataclass

from .base import PositionEncoding, position_encodings


@position_encodings.register("none")
@dataclass(frozen=True, kw_only=True)
class NoPositions(PositionEncoding):
    """No positions at all: with `scope = "query"` the order of the tokens before the query makes no difference."""
