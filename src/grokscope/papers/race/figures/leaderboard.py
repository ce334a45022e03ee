"""The leaderboard as a picture: every seed of every method, the earliest method first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....experiments.clocks import times
from ....figures.registry import figures
from ....figures.rows import NEVER, SEED, bar, bar_entry, draw_row, fit_steps, rows
from ....figures.style import NEUTRAL, arm_colours
from ....race.board import ranked
from ....race.clocks import FIRST, STABLE

if TYPE_CHECKING:
    from ....store.results import Results


@figures.register("race-leaderboard", takes="results", title="Leaderboard")
def leaderboard(results: Results) -> Figure:
    """Steps to 99 % test accuracy: a dot per seed, and the median with its 95 % interval.

    Dots are hollow where the accuracy did not last; triangles are at the last step of runs that never reached it.
    """
    board = ranked(results, {})
    figure, ax = rows([row.title for row in board], "optimizer steps to 99 % test accuracy")
    shown: list[float] = []
    colours = arm_colours([row.title for row in board])
    for place, row in enumerate(board):
        first, stable = (times(results.runs, row.title, clock) for clock in (FIRST, STABLE))
        draw_row(ax, place, first, colours[row.title], stable)
        shown += first.time.tolist()
        middle, low, high = row.first
        if np.isfinite(middle):
            bar(ax, place, middle, "median")
            end = high if np.isfinite(high) else float(first.time.max())
            ax.hlines(place, max(low, 1.0), end, color="black", lw=1.0, zorder=3)
    fit_steps(ax, shown)
    hollow = Line2D([], [], color=NEUTRAL, ls="", marker="o", ms=3.5, mfc="none", label="did not last")
    entries = [SEED, hollow, NEVER, bar_entry("median, 95 % interval")]
    figure.legend(handles=entries, loc="outside lower center", ncols=4, handlelength=1.2)
    return figure
