"""What an audit says: one `Statement` of the paper a time, held against one run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Outcome = Literal["holds", "violated", "not applicable"]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of the paper and what a run says to it."""

    number: str
    """Its number in structural inference."""
    name: str
    """What it is about, in a few words."""
    verdict: Outcome
    numbers: dict[str, Any] = field(default_factory=dict)
    """What decided it. None is a number that does not exist; `empty` says that the statement asks for nothing here."""
    words: str
    """What was seen; for what is not applicable, why."""

    @property
    def empty(self) -> bool:
        """Whether it holds only because it asks for nothing."""
        return bool(self.numbers.get("empty"))

    @property
    def outcome(self) -> str:
        """The verdict as a reader should take it."""
        return f"{self.verdict}, empty" if self.verdict == "holds" and self.empty else self.verdict

    def to_dict(self) -> dict[str, Any]:
        """Plain data that every JSON reader takes."""
        return {
            "number": self.number,
            "name": self.name,
            "verdict": self.verdict,
            "numbers": _plain(self.numbers),
            "words": self.words,
        }


class Claim(NamedTuple):
    """What is claimed, before a run has been asked."""

    number: str
    name: str

    def decide(self, true: bool, words: str, **numbers: Any) -> Statement:
        verdict: Outcome = "holds" if true else "violated"
        return Statement(number=self.number, name=self.name, verdict=verdict, numbers=numbers, words=words)

    def skip(self, why: str, **numbers: Any) -> Statement:
        return Statement(number=self.number, name=self.name, verdict="not applicable", numbers=numbers, words=why)


def say(value: float | None) -> str:
    """A number as short as a sentence needs it."""
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
