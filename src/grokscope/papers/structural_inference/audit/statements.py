"""Every statement that is audited, in the order of the paper's story."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....store import RunInfo
from .base import CheckedStatement
from .contraction import contraction
from .evidence import Evidence, read_evidence
from .gradient import starvation
from .plateau import phases, plateau
from .prior import delay, envelope
from .separation import conditions, corollary, decoupling

STATEMENTS: tuple[Callable[[Evidence], CheckedStatement], ...] = (
    decoupling,
    conditions,
    corollary,
    starvation,
    contraction,
    plateau,
    envelope,
    delay,
    phases,
)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """One run with every statement checked on it."""

    evidence: Evidence
    statements: tuple[CheckedStatement, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"run": self.evidence.id, "statements": [statement.to_dict() for statement in self.statements]}


def check(evidence: Evidence) -> Audit:
    """Check every statement on a run already read."""
    return Audit(evidence=evidence, statements=tuple(statement(evidence) for statement in STATEMENTS))


def audit(run: RunInfo) -> Audit:
    """Replay a stored run's checkpoints and check every statement on it."""
    return check(read_evidence(run))
