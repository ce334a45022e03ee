"""Structure before accuracy, run by run (structural inference, Figure 1 left): when D falls and when test accuracy rises."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .layout import log_epochs
from .style import PAGE_WIDTH, SMALL, arm_colours, styled

LATE = "#D55E00"
"""Of runs in which accuracy comes first."""
STEP = 0.075
"""Inches between runs."""


@styled
def lead_of_attention(runs: pd.DataFrame) -> Figure:
    """A line a run, from the epoch at which D has fallen to the epoch at which accuracy has risen; runs sorted within each arm.

    runs   a row a run with arm, t_condensed and t_half (missing where the run did not generalise)
    """
    arms = {arm: own.sort_values("t_half") for arm, own in runs.groupby("arm", sort=False)}
    colours = arm_colours(list(arms))
    shown = {arm: own.dropna(subset=["t_condensed", "t_half"]) for arm, own in arms.items()}
    heights = {arm: max(len(own), 4) + 2 for arm, own in shown.items()}
    figure = Figure(figsize=(0.8 * PAGE_WIDTH, STEP * sum(heights.values()) + 0.95))
    ax = figure.add_subplot()
    top, ticks = 0.0, []
    for arm, own in shown.items():
        ticks.append(top + heights[arm] / 2)
        for row, (down, up) in enumerate(zip(own["t_condensed"], own["t_half"], strict=True)):
            y, colour = top + 1.5 + row, colours[arm] if down < up else LATE
            ax.plot([down, up], [y, y], color=colour, lw=0.9, alpha=0.7)
            ax.plot(down, y, "o", color=colour, ms=3, mew=0)
            ax.plot(up, y, "D", color=colour, ms=3.4, mfc="white", mew=0.9)
        lead = (own["t_half"] - own["t_condensed"]).median()
        said = f"{lead:,.0f}" if len(own) else "–"
        ahead = int((own["t_condensed"] < own["t_half"]).sum())
        where = ax.get_yaxis_transform()
        ax.text(1.02, ticks[-1], f"{said}   {ahead} of {len(own)}", transform=where, size=SMALL, va="center")
        top += heights[arm]
        ax.axhline(top, color="#cccccc", lw=0.6)
    ax.text(1.02, -1.2, "median lead (epochs), D first", transform=ax.get_yaxis_transform(), size=SMALL, va="center")
    known = pd.concat([own[["t_condensed", "t_half"]] for own in shown.values()]).stack()
    log_epochs(ax, max(known.min(), 1) / 1.3, known.max() * 1.3)
    ax.set_ylim(top, 0)
    ax.set_yticks(ticks, list(shown))
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("epoch")
    grey = "#666666"
    handles = [
        Line2D([], [], color=grey, ls="", marker="o", ms=3, label="D halfway down (log scale)"),
        Line2D([], [], color=grey, ls="", marker="D", ms=3.4, mfc="white", label="test accuracy at 50 %"),
        Line2D([], [], color=LATE, lw=0.9, label="accuracy first"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, handlelength=1.2)
    return figure
