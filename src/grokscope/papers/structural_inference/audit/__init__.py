"""Audit: the paper's statements checked on stored runs, each with its numbers. Reads runs, trains nothing."""

from .base import CheckedStatement, Statement
from .evidence import Evidence, read_evidence
from .proportion import proportionality
from .replay import Replay
from .statements import Audit, audit, check

__all__ = [
    "Audit",
    "CheckedStatement",
    "Evidence",
    "Replay",
    "Statement",
    "audit",
    "check",
    "proportionality",
    "read_evidence",
]
