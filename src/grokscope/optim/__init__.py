"""Optimizers, gradient filters and losses: one file each, a pure update and its state, written for one run."""

from .base import Optimizer, optimizers
from .filters import Filter, filters
from .losses import losses

__all__ = ["Filter", "Optimizer", "filters", "losses", "optimizers"]
