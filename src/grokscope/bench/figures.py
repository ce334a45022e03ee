"""Scaling: run-steps per second against each size that can grow, and the counted limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from ..figures.panels import legend, short_number
from ..figures.style import MEANINGS, NEUTRAL, OTHERS, PAGE_WIDTH, styled

NAMES = {
    "lanes": "lanes",
    "p": "modulus p",
    "d": "width d (MLP 4d)",
    "T": "tokens in a sequence T",
    "layers": "layers (causal)",
}
"""Label of each axis."""
MEASURED, LIMIT = MEANINGS["baseline"].look.colour, OTHERS[0]


@styled
def cost_growth(rows: Sequence[Mapping[str, Any]], *, title: str) -> Figure:
    """A panel for each axis; rows as `grokscope bench --scaling` stores them. A point that could not be timed is a cross on the
    lower edge."""
    axes = list(dict.fromkeys(row["axis"] for row in rows))
    columns = min(len(axes), 3)
    lines = -(-len(axes) // columns)
    figure = Figure(figsize=(PAGE_WIDTH if columns == 3 else 2.4 * columns, 2.1 * lines + 0.7))
    grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
    for ax, axis in zip(grid.flat, axes, strict=False):
        _panel(ax, axis, [row for row in rows if row["axis"] == axis])
    for ax in list(grid.flat)[len(axes) :]:
        ax.remove()
    for row_of_panels in grid:
        row_of_panels[0].set_ylabel("run-steps per second")
    grid[0, 0].set_yscale("log")
    _decades(grid[0, 0].yaxis, grid[0, 0].get_ylim())
    figure.suptitle(title)
    entries = [
        (Line2D([], [], color=MEASURED, marker="o", ms=4, mew=0), "measured, training alone"),
        (Line2D([], [], color=LIMIT, ls="--"), "limit: its matrix products or bytes alone"),
    ]
    if any(row["note"] for row in rows):
        entries.append((Line2D([], [], color=NEUTRAL, ls="", marker="x"), "not timed: out of memory or too long"))
    legend(figure, entries)
    return figure


def _panel(ax: Axes, axis: str, rows: Sequence[Mapping[str, Any]]) -> None:
    done = [row for row in rows if not row["note"]]
    values = [row["value"] for row in done]
    ax.plot(values, [row["limit"] for row in done], color=LIMIT, ls="--", gid="limit")
    ax.plot(values, [row["run_steps_per_s"] for row in done], "o-", color=MEASURED, ms=4, mew=0, gid="measured")
    gaps = [row["value"] for row in rows if row["note"]]
    ax.plot(gaps, [0.03] * len(gaps), "x", color=NEUTRAL, transform=ax.get_xaxis_transform(), gid="gap")
    ax.set_xscale("log", base=2)
    ticks = [row["value"] for row in rows]
    ax.xaxis.set_major_locator(FixedLocator(ticks if len(ticks) < 7 else ticks[::2]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    lanes = {row["lanes"] for row in rows}
    count = f", {lanes.pop()} lanes" if len(lanes) == 1 else ""
    ax.set_xlabel(NAMES[axis] + count.replace(", 1 lanes", ", 1 lane"))


def _decades(axis: Axis, limits: tuple[float, float]) -> None:
    """Every decade has a number; over less than two also 2 and 5."""
    subs = (1, 2, 5) if limits[1] / limits[0] < 100 else (1,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    axis.set_minor_formatter(NullFormatter())
