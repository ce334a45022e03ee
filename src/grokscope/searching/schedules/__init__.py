"""Schedules: how long candidates train before some are dropped, and which."""

from .base import Schedule, schedules

__all__ = ["Schedule", "schedules"]
