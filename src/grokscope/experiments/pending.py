"""Experiments whose runs are outstanding: `results/pending.txt`, one name or pattern per line. Everything else must have current
results."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from .base import all_experiments

if TYPE_CHECKING:
    from .ledger import Ledger

PENDING = "pending.txt"


def pending(folder: Path) -> list[str]:
    """Names and patterns; none if there is no list."""
    path = folder / PENDING
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [name for line in lines if (name := line.partition("#")[0].strip())]


def outstanding(folder: Path, names: Iterable[str]) -> set[str]:
    """Which of the experiments are pending."""
    return {name for name in names for pattern in pending(folder) if fnmatch.fnmatch(name, pattern)}


def missing(ledger: Ledger, folder: Path) -> list[str]:
    """One line for each experiment without current results that is not pending, and for each pending name that does not exist."""
    names = list(all_experiments())
    waiting = outstanding(folder, names)
    current = {experiment.name for experiment, _ in ledger.found}
    unknown = [pattern for pattern in pending(folder) if not fnmatch.filter(names, pattern)]
    return [
        *(f"{name}: no current results, and not in {PENDING}" for name in names if name not in current | waiting),
        *(f"{PENDING}: no experiment is called {name}" for name in unknown),
    ]
