"""Audit: the paper's statements held against stored runs, each with its numbers. Reads runs, trains nothing."""

from .base import Statement
from .evidence import Evidence, read_evidence
from .replay import Replay
from .statements import Audit, audit, judge

__all__ = ["Audit", "Evidence", "Replay", "Statement", "audit", "judge", "read_evidence"]
