"""The positive controls: steps to the authors' threshold, beside what they report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....experiments.clocks import Clock, times
from ....figures.registry import figures
from ....figures.style import arm_colours
from .rows import NEVER, SEED, draw_row, fit_steps, rows

if TYPE_CHECKING:
    from ....store.results import Results


@figures.register("race-controls", takes="results", title="Positive controls")
def positive_controls(
    results: Results, *, clocks: Mapping[str, Clock], published: Mapping[str, float] | None = None
) -> Figure:
    """Steps to the test accuracy that the authors count to: a dot per seed, and a bar at their number.

    clocks      by arm
    published   numbers of steps by arm, where there is one
    """
    figure, ax = rows(list(clocks), "optimizer steps to the authors' test accuracy (95 % or 99 %)")
    colours = arm_colours(list(clocks))
    shown = list((published or {}).values())
    for place, (arm, clock) in enumerate(clocks.items()):
        own = times(results.runs, arm, clock)
        draw_row(ax, place, own, colours[arm])
        shown += own.time.tolist()
    for arm, steps in (published or {}).items():
        place = list(clocks).index(arm)
        ax.vlines(steps, place - 0.36, place + 0.36, color="black", lw=1.8, zorder=3, gid="published")
    fit_steps(ax, shown)
    number = Line2D([], [], color="black", ls="", marker="|", mew=1.8, ms=9, label="the authors' number")
    figure.legend(handles=[SEED, NEVER, number], loc="outside lower center", ncols=3, handlelength=1.2)
    return figure
