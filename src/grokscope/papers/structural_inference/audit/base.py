"""What an audit consists of: `Statement`s of the paper, each checked on one run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

AuditVerdict = Literal["holds", "violated", "not applicable"]


class Statement(NamedTuple):
    """A numbered statement of the paper, not yet checked."""

    number: str
    name: str

    def decide(self, true: bool, text: str, **numbers: Any) -> CheckedStatement:
        verdict: AuditVerdict = "holds" if true else "violated"
        return CheckedStatement(number=self.number, name=self.name, verdict=verdict, numbers=numbers, text=text)

    def skip(self, why: str, **numbers: Any) -> CheckedStatement:
        return CheckedStatement(number=self.number, name=self.name, verdict="not applicable", numbers=numbers, text=why)


@dataclass(frozen=True, kw_only=True)
class CheckedStatement:
    """One statement of the paper, and what one run shows of it."""

    number: str
    """Its number in structural inference."""
    name: str
    """What it is about, in a few words."""
    verdict: AuditVerdict
    numbers: dict[str, Any] = field(default_factory=dict)
    """What decided it. None is a number that does not exist; `empty` marks a statement that asks for nothing here."""
    text: str
    """What the run shows; for a statement that does not apply, why."""

    @property
    def empty(self) -> bool:
        """Whether it holds only because it asks for nothing."""
        return bool(self.numbers.get("empty"))

    @property
    def outcome(self) -> str:
        """The verdict as a reader should take it."""
        return f"{self.verdict}, empty" if self.verdict == "holds" and self.empty else self.verdict

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "number": self.number,
            "name": self.name,
            "verdict": self.verdict,
            "numbers": _plain(self.numbers),
            "text": self.text,
        }


def fmt(value: float | None) -> str:
    """A number to three digits, or to the unit from 1000 on."""
    if value is None:
        return "none"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def percent(share: float) -> str:
    """Rounded down, so that 99.96 does not read as 100."""
    return f"{math.floor(1000 * share) / 10:g} %"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
