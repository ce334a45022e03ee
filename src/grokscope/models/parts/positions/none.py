"""No position encoding: only the query token can be identified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import PositionEncoding, position_encodings


@position_encodings.register("none")
@dataclass(frozen=True, kw_only=True)
class NoPositions(PositionEncoding):
    """No position encoding: with `scope = "query"` the order of the tokens before the query makes no difference."""

    examplewise: ClassVar[bool] = True
