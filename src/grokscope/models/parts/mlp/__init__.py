"""The MLP behind attention."""

from .base import FeedForward, mlps

__all__ = ["FeedForward", "mlps"]
