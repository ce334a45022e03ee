"""Position encodings: how a model knows where a token stands."""

from .base import PositionEncoding, position_encodings

__all__ = ["PositionEncoding", "position_encodings"]
