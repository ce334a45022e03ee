"""Readouts: what the MLP reads, and how its output becomes logits."""

from .base import Readout, readouts

__all__ = ["Readout", "readouts"]
