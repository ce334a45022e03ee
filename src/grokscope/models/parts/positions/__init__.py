"""Position encodings: how a model represents the position of a token."""

from .base import PositionEncoding, position_encodings

__all__ = ["PositionEncoding", "position_encodings"]
