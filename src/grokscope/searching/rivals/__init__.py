"""Rivals of the search: other ways to a support or to generalisation, under the same splits and the same budget."""

from .base import Bout, Outcome, Rival, rivals

__all__ = ["Bout", "Outcome", "Rival", "rivals"]
