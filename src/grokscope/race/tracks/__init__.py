"""The tracks of the race, one file each."""

from .base import Sizes, Track, tracks

__all__ = ["Sizes", "Track", "tracks"]
