"""Measures: what is logged of a run. One file a family; the training loop knows none of them."""

from .base import View, measures

__all__ = ["View", "measures"]
