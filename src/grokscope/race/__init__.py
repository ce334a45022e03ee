"""The race of accelerators: every method gets the same number of draws of its settings, and is scored on fresh seeds.

A method and a track are one file each, in `methods/` and `tracks/`. `tuning` finds the settings of a method on a track, `board`
turns the scored runs into a leaderboard. The runs that are scored are those of the experiments `race-…` (`grokscope.papers.race`).
"""

from .methods.base import Method, accelerators
from .tracks.base import Track, tracks

__all__ = ["Method", "Track", "accelerators", "tracks"]
