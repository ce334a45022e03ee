"""The leaderboard as a picture: every seed of every method, the earliest method first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....experiments.clocks import times
from ....figures.registry import figures
from ....figures.style import NEUTRAL, PAGE_WIDTH, SMALL, arm_colours
from ....race.board import ranked
from ....race.clocks import FIRST, STABLE

if TYPE_CHECKING:
    from ....store.results import Results


@figures.register("race-leaderboard", takes="results", title="Leaderboard")
def leaderboard(results: Results) -> Figure:
    """Steps to 99 % test accuracy: a dot per seed, and the median with its 95 % interval.

    Dots are hollow where the accuracy did not last; triangles are at the last step of runs that never reached it.
    """
    rows = ranked(results, {})
    figure = Figure(figsize=(0.85 * PAGE_WIDTH, 0.9 + 0.3 * len(rows)))
    ax = figure.add_subplot()
    shown = []
    colours = arm_colours([row.title for row in rows])
    for place, row in enumerate(rows):
        colour = colours[row.title]
        first, stable = (times(results.runs, row.title, clock) for clock in (FIRST, STABLE))
        heights = place + np.linspace(-0.25, 0.25, len(first.time))
        for time, reached, lasts, height in zip(first.time, first.grokked, stable.grokked, heights, strict=True):
            shown.append(max(time, 1.0))
            if not reached:
                ax.plot(time, height, ">", color=colour, mfc="none", mew=0.9, ms=4.5, gid="censored")
            else:
                ax.plot(
                    time, height, "o", color=colour, mfc=colour if lasts else "none", mew=0.9, ms=3.5, gid="reached"
                )
        middle, low, high = row.first
        if np.isfinite(middle):
            ax.vlines(middle, place - 0.36, place + 0.36, color="black", lw=1.8, zorder=3, gid="median")
            end = high if np.isfinite(high) else float(first.time.max())
            ax.hlines(place, max(low, 1.0), end, color="black", lw=1.0, zorder=3)
        where = ax.get_yaxis_transform()
        ax.text(1.02, place, f"{row.reached} of {row.seeds}", transform=where, size=SMALL, va="center")
    ax.set_xscale("log")
    ax.set_xlim(min(shown) / 1.5, max(shown) * 1.5)
    ax.set_xlabel("optimizer steps to 99 % test accuracy")
    ax.set_yticks(range(len(rows)), [row.title for row in rows])
    ax.set_ylim(len(rows) - 0.45, -0.55)
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.grid(axis="y", visible=False)
    handles = [
        Line2D([], [], color=NEUTRAL, ls="", marker="o", ms=3.5, label="a seed"),
        Line2D([], [], color=NEUTRAL, ls="", marker="o", ms=3.5, mfc="none", label="did not last"),
        Line2D([], [], color=NEUTRAL, ls="", marker=">", ms=4.5, mfc="none", label="never (last step)"),
        Line2D([], [], color="black", ls="", marker="|", mew=1.8, ms=9, label="median, 95 % interval"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, handlelength=1.2)
    return figure
