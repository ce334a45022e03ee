"""Structure before accuracy, run by run (structural inference, Figure 1 left): when D falls and when test accuracy rises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import StrMethodFormatter

from ....figures.panels import log_epochs
from ....figures.registry import figures
from ....figures.style import PAGE_WIDTH, SMALL, arm_colours

if TYPE_CHECKING:
    from ....store.results import Results

LATE = "#D55E00"
"""Of runs in which accuracy comes first."""
GREY = "#666666"
STEP = 0.08
"""Inches between runs."""
NEAR = 100
"""Epochs around 0 in which the scale of leads is linear."""


@figures.register("si-lead", takes="results", title="Structure before accuracy")
def lead_of_attention(results: Results) -> Figure:
    """One line per run: left, when D has fallen and when test accuracy has risen; right, by how many epochs D leads.

    Of each run arm, t_condensed and t_half, both missing where the run did not generalise.
    """
    runs = results.runs
    arms = dict(iter(runs.groupby("arm", sort=False)))
    colours = arm_colours(list(arms))
    shown = {arm: own.dropna(subset=["t_half"]).sort_values("t_half") for arm, own in arms.items()}
    heights = {arm: max(len(own), 3) + 2 for arm, own in shown.items()}
    figure = Figure(figsize=(PAGE_WIDTH, STEP * sum(heights.values()) + 1.1))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.5, 1])
    top, ticks = 0.0, []
    for arm, own in shown.items():
        ticks.append(top + heights[arm] / 2)
        for row, (down, up) in enumerate(zip(own["t_condensed"], own["t_half"], strict=True)):
            _draw_run(left, right, top + 1.5 + row, down, up, colours[arm])
        ahead = int((own["t_condensed"] < own["t_half"]).sum())
        if len(own):
            where = right.get_yaxis_transform()
            right.text(1.02, ticks[-1], f"{ahead} of {len(own)}", transform=where, size=SMALL, va="center")
        else:
            words, where = f"none of {len(arms[arm])} runs generalised", left.get_yaxis_transform()
            left.text(0.5, ticks[-1], words, transform=where, size=SMALL, va="center", ha="center", color=GREY)
        top += heights[arm]
        for ax in (left, right):
            ax.axhline(top, color="#cccccc", lw=0.6)
    _finish(left, right, pd.concat(shown.values()))
    right.text(1.02, 0, "D first", transform=right.get_yaxis_transform(), size=SMALL, va="bottom")
    left.set_ylim(top, 0)
    left.set_yticks(ticks, list(shown))
    handles = [
        Line2D([], [], color=GREY, ls="", marker="o", ms=3.5, mew=0, label="D halfway down (log scale)"),
        Line2D([], [], color=GREY, ls="", marker="D", ms=3.5, mfc="white", mew=0.9, label="test accuracy at 50 %"),
        Line2D([], [], color=LATE, marker="D", ms=3.5, mfc="white", lw=0.9, label="accuracy first"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, handlelength=1.2)
    return figure


def _draw_run(left: Axes, right: Axes, y: float, down: float, up: float, colour: str) -> None:
    colour = colour if down < up else LATE
    left.plot([down, up], [y, y], color=colour, lw=0.9, alpha=0.7)
    left.plot(down, y, "o", color=colour, ms=3.5, mew=0)
    left.plot(up, y, "D", color=colour, ms=3.5, mfc="white", mew=0.9)
    right.plot([0, up - down], [y, y], color=colour, lw=0.9, alpha=0.7)
    right.plot(up - down, y, "D", color=colour, ms=3.5, mfc="white", mew=0.9)


def _finish(left: Axes, right: Axes, known: pd.DataFrame) -> None:
    times = known[["t_condensed", "t_half"]].to_numpy(dtype=float)
    log_epochs(left, max(times.min(initial=1e9), 1) / 1.3, times.max(initial=10) * 1.3)
    left.set_xlabel("epoch")
    lead = times[:, 1] - times[:, 0]
    right.set_xscale("symlog", linthresh=NEAR, linscale=0.5)
    right.set_xlim(min(lead.min(initial=0) * 1.5, -NEAR), max(lead.max(initial=0) * 1.5, NEAR))
    right.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    right.axvline(0, color="black", lw=0.8)
    right.set_xlabel("lead of D over accuracy (epochs)")
    for ax in (left, right):
        ax.tick_params(axis="y", length=0, labelsize=8)
        ax.grid(axis="y", visible=False)
