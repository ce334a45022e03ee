"""Numbers of the leaderboard as text."""

from __future__ import annotations

import math
from collections.abc import Callable

from .board import Interval, Row

HEADER = (
    "method",
    "reach 99 %",
    "steps to 99 %",
    "stable steps",
    "seconds",
    "10¹² operations",
    "ratio to AdamW",
    "tuning, run-steps",
    "settings",
)


def count(value: float) -> str:
    return f"{value:,.0f}"


def short(value: float) -> str:
    return f"{value:.3g}"


def interval(values: Interval, show: Callable[[float], str] = count, factor: float = 1.0) -> str:
    """`1,200 (900 to 1,500)`; never where the median is infinite, – where it is unknown."""
    middle, low, high = (factor * value for value in values)
    if math.isnan(middle):
        return "–"
    if math.isinf(middle):
        return "never"
    ends = ["…" if math.isinf(end) and end < 0 else "never" if math.isinf(end) else show(end) for end in (low, high)]
    return f"{show(middle)} ({ends[0]} to {ends[1]})"


def cells(row: Row) -> tuple[str, ...]:
    """A row of the table."""
    low, high = row.share
    settings = ", ".join(f"{name.removesuffix('.kind')} {_value(value)}" for name, value in row.settings.items())
    return (
        row.title,
        f"{row.reached} of {row.seeds} ({100 * low:.0f} to {100 * high:.0f} %)",
        interval(row.first),
        f"{interval(row.stable)}, {row.lasting} of {row.seeds}",
        interval(row.seconds, short),
        interval(row.flops, short, 1e-12),
        interval(row.ratio, short),
        "–" if row.tuning_steps is None else count(row.tuning_steps),
        "; ".join(part for part in (settings, row.note) if part),
    )


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
