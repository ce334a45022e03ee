"""Normalisation of vectors; by default without a gain and a bias of its own."""

from .base import Norm, norms

__all__ = ["Norm", "norms"]
