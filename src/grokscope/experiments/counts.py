"""Verdicts, counted in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .base import VERDICTS

WHOSE = {"paper": "the paper's", "critic": "its critics'", "ours": "ours"}
"""Whose statements are, in words."""


def verdict_counts(rows: Sequence[Mapping[str, Any]], what: str = "claim") -> str:
    """`3 claims: 2 agree, 1 disagrees.`"""
    counts = Counter(row["verdict"] for row in rows)
    each = ", ".join(f"{counts[verdict]} {_verb(verdict, counts[verdict])}" for verdict in VERDICTS if counts[verdict])
    return f"{len(rows)} {what}{'s' * (len(rows) != 1)}{': ' + each if each else ''}."


def _verb(verdict: str, count: int) -> str:
    return verdict if count == 1 else verdict.replace("agrees", "agree")


def either(numbers: Sequence[int]) -> str:
    """[20] → 20; [20, 30, 40] → 20, 30 or 40."""
    *others, last = (f"{number:,}" for number in numbers)
    return f"{', '.join(others)} or {last}" if others else last
