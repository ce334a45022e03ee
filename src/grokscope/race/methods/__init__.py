"""The methods of the race, one file each."""

from .base import Control, Method, accelerators

__all__ = ["Control", "Method", "accelerators"]
