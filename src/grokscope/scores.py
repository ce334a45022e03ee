"""How the columns train_accuracy and test_accuracy are called and written: fractions of correct answers, or R² of a regression."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

ACCURACY = "accuracy"
R_SQUARED = "R²"


def either_score(names: Iterable[str]) -> str:
    """`accuracy`, `R²`, or `accuracy or R²`: what a column or an axis of several runs shows."""
    return " or ".join(sorted(set(names), reverse=True)) or ACCURACY


def shown_score(value: Any, name: str, *, mixed: bool = False) -> str:
    """100.0 %, or 0.962 if it is R², which is marked where both kinds stand in one column."""
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return "–"
    if name == ACCURACY:
        return f"{100 * value:.1f} %"
    return f"{'R² = ' if mixed else ''}{value:.3f}"
