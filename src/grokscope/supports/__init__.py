"""Supports: rules that say, for each example, which tokens may matter."""

from .base import Support, Unit, mask_of, supports

__all__ = ["Support", "Unit", "mask_of", "supports"]
