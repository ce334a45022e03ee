"""Read-outs: what the MLP is given, and how its output becomes logits."""

from .base import Readout, readouts

__all__ = ["Readout", "readouts"]
