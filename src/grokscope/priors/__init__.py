"""Priors: penalties on attention with their schedules, and constraints on the weights."""

from .base import Prior, priors
from .constraints import Constraints

__all__ = ["Constraints", "Prior", "priors"]
