"""Trackers: rows of measurements sent to the experiment trackers that people already use. One file per tracker.

A tracker is imported only if it is asked for.
"""

from .base import Tracker, Trackers, check_trackers, open_tracker, trackers

__all__ = ["Tracker", "Trackers", "check_trackers", "open_tracker", "trackers"]
