"""The positive controls: steps to the authors' threshold, beside what they report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ....experiments.clocks import Clock, times
from ....figures.registry import figures
from ....figures.rows import NEVER, SEED, bar, bar_entry, draw_row, fit_steps, rows
from ....figures.style import arm_colours

if TYPE_CHECKING:
    from ....store.results import Results


@figures.register("race-controls", takes="results", title="Positive controls")
def positive_controls(results: Results, *, clocks: Mapping[str, Clock], published: Mapping[str, float]) -> Figure:
    """Steps to the test accuracy that the authors count to: a dot per seed, and a bar at their number.

    clocks      by arm
    published   numbers of steps by arm, where there is one
    """
    figure, ax = rows(list(clocks), "optimizer steps to the authors' test accuracy (95 % or 99 %)")
    colours = arm_colours(list(clocks))
    shown = list(published.values())
    for place, (arm, clock) in enumerate(clocks.items()):
        own = times(results.runs, arm, clock)
        draw_row(ax, place, own, colours[arm])
        shown += own.time.tolist()
        if arm in published:
            bar(ax, place, published[arm], "published")
    fit_steps(ax, shown)
    entries = [SEED, NEVER, bar_entry("the authors' number")]
    figure.legend(handles=entries, loc="outside lower center", ncols=3, handlelength=1.2)
    return figure
