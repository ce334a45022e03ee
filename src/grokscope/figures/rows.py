"""One row per method: a dot for each seed at the step at which it reached an accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..analysis import Sample
from .panels import log_epochs
from .style import NEUTRAL, PAGE_WIDTH, SMALL

SEED = Line2D([], [], color=NEUTRAL, ls="", marker="o", ms=3.5, label="a seed")
NEVER = Line2D([], [], color=NEUTRAL, ls="", marker=">", ms=4.5, mfc="none", label="never (last step)")


def rows(titles: Sequence[str], label: str) -> tuple[Figure, Axes]:
    """A figure with a row for each title."""
    figure = Figure(figsize=(0.85 * PAGE_WIDTH, 0.9 + 0.3 * len(titles)))
    ax = figure.add_subplot()
    ax.set_xlabel(label)
    name_rows(ax, titles)
    return figure, ax


def name_rows(ax: Axes, titles: Sequence[str]) -> None:
    """Rows with titles, from above."""
    ax.set_yticks(range(len(titles)), titles)
    ax.set_ylim(len(titles) - 0.45, -0.55)
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.grid(axis="y", visible=False)


def draw_row(ax: Axes, place: int, times: Sample, colour: str, stable: Sample | None = None) -> None:
    """The seeds of a method, and how many reached.

    stable   when they reached it to stay: a seed that did not is hollow
    """
    heights = place + np.linspace(-0.25, 0.25, len(times.time))
    filled = (stable or times).grokked
    for time, reached, stays, height in zip(times.time, times.grokked, filled, heights, strict=True):
        if reached:
            ax.plot(time, height, "o", color=colour, mfc=colour if stays else "none", mew=0.9, ms=3.5, gid="reached")
        else:
            ax.plot(time, height, ">", color=colour, mfc="none", mew=0.9, ms=4.5, gid="censored")
    text = f"{int(sum(times.grokked))} of {len(times.time)}"
    ax.text(1.02, place, text, transform=ax.get_yaxis_transform(), size=SMALL, va="center")


def bar(ax: Axes, place: int, steps: float, gid: str) -> None:
    """A black bar across a row."""
    ax.vlines(steps, place - 0.36, place + 0.36, color="black", lw=1.8, zorder=3, gid=gid)


def bar_entry(label: str) -> Line2D:
    """What a bar is called in the legend."""
    return Line2D([], [], color="black", ls="", marker="|", mew=1.8, ms=9, label=label)


def fit_steps(ax: Axes, shown: Sequence[float]) -> None:
    """A log axis around all that is drawn."""
    log_epochs(ax, max(min(shown), 1.0) / 1.5, max(shown) * 1.5)
