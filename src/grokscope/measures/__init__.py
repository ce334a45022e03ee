"""Measures: the metrics that are logged per run. One file per family; the training loop knows none of them."""

from .base import View, measures

__all__ = ["View", "measures"]
