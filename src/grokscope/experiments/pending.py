"""Experiments whose runs are outstanding: `results/pending.txt`, one name or pattern per line. Everything else must have results that
are current."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from pathlib import Path

PENDING = "pending.txt"


def pending(folder: Path) -> list[str]:
    """Names and patterns; none if there is no list."""
    path = folder / PENDING
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [name for line in lines if (name := line.partition("#")[0].strip())]


def outstanding(folder: Path, names: Iterable[str]) -> set[str]:
    """Which of the experiments are pending."""
    return {name for name in names for pattern in pending(folder) if fnmatch.fnmatch(name, pattern)}
