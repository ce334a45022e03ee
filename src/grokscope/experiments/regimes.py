"""The three regimes of distractors that most experiments go through, and arms named after them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..config.references import REFERENCES
from .base import Arms, Overrides

if TYPE_CHECKING:
    import pandas as pd

REGIMES: Arms = {
    "constant distractors": {"task.alphabet": 1},
    "q = 16": {"task.alphabet": 16},
    "operand vocabulary": {"task.alphabet": "operands"},
}
"""From "attention is no bottleneck" to "attention is the whole bottleneck"."""


LEVEL = re.compile(r"q = (\d+|operands)|operands")
"""Names of the levels at which distractors are dialled, besides those of REGIMES."""


def regime_of(case: str) -> str:
    """The regime of distractors that the name of a case begins with; empty if it names none."""
    first = case.split(", ", 1)[0]
    return first if first in REGIMES or LEVEL.fullmatch(first) else ""


def by_regime(arms: Mapping[str, Overrides], regimes: Mapping[str, Overrides] = REGIMES) -> Arms:
    """The arms in each regime, named `q = 16, oracle`; an arm that refers to another means the one of its own regime."""
    made: Arms = {}
    for regime, where in regimes.items():
        for arm, settings in arms.items():
            named = {f: f"@{regime}, {settings[f][1:]}" for f in REFERENCES if str(settings.get(f, "")).startswith("@")}
            made[f"{regime}, {arm}"] = {**where, **settings, **named}
    return made


def in_regime(runs: pd.DataFrame, regime: str) -> pd.DataFrame:
    """The runs of one regime, their arms named without it."""
    own = runs[runs["arm"].str.startswith(f"{regime}, ")]
    return own.assign(arm=own["arm"].str.removeprefix(f"{regime}, "))


def quick_regime(arms: Iterable[str], more: Mapping[str, Overrides] | None = None) -> dict[str, Overrides]:
    """The quick size keeps these arms at q = 16, with settings on top where `more` has some."""
    return {f"q = 16, {arm}": (more or {}).get(arm, {}) for arm in arms}
