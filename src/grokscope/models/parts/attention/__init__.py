"""Attention: how queries and keys become weights over positions."""

from .base import Attention, attentions

__all__ = ["Attention", "attentions"]
