"""Adapters: how attention is seen in networks of one kind. One file per kind."""

from .base import Adapter, Layer, adapters

__all__ = ["Adapter", "Layer", "adapters"]
