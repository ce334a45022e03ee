"""Normalisation of vectors, without a gain or a bias of its own."""

from .base import Norm, norms

__all__ = ["Norm", "norms"]
