"""Structure before accuracy, run by run (structural inference, Figure 1 left): by how much the test loss lags behind D."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from ....analysis.pairs import hodges_lehmann
from ....figures.panels import legend
from ....figures.registry import figures
from ....figures.style import PAGE_WIDTH, SMALL, arm_colours
from ..leads import NEAR, lag, lag_log

if TYPE_CHECKING:
    from ....store.results import Results

SCALES = {"D in nats": lag, "log D": lag_log}
ROW = 0.32
"""Inches of an arm."""


@figures.register("si-lead", takes="results", title="Structure before accuracy")
def lead_of_attention(results: Results) -> Figure:
    """One dot per run: the lag of the test loss behind D, as a fraction of the wait, with D in nats and in logarithms."""
    runs = results.runs
    arms = list(dict.fromkeys(runs["arm"]))
    colours = arm_colours(list(SCALES))
    figure = Figure(figsize=(PAGE_WIDTH, ROW * 2 * len(arms) + 1.1))
    ax = figure.subplots()
    for place, (scale, compute) in enumerate(SCALES.items()):
        found = runs["run"].map(compute(results)).to_numpy(float)
        for row, arm in enumerate(arms):
            y = row + 0.3 * (place - 0.5)
            own = found[(runs["arm"] == arm).to_numpy() & np.isfinite(found)]
            locked = own[np.abs(own) <= NEAR]
            ax.plot(locked, np.full(len(locked), y), "o", color=colours[scale], ms=3, mew=0, alpha=0.5, gid=scale)
            if len(locked):
                middle, low, high = np.clip(hodges_lehmann(locked), -NEAR, NEAR)
                ax.plot([low, high], [y, y], color=colours[scale], lw=1.6, gid="interval")
                ax.plot(middle, y, "|", color="black", ms=8, gid="middle")
            words, where = f"{len(locked)} of {len(own)}", ax.get_yaxis_transform()
            ax.text(1.02, y, words, transform=where, size=SMALL, va="center", color=colours[scale])
    ax.axvline(0, color="black", lw=0.8)
    ax.set_xlim(-1.05 * NEAR, 1.05 * NEAR)
    ax.set_ylim(len(arms) - 0.4, -0.6)
    ax.set_yticks(range(len(arms)), arms)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_xlabel("lag of the test loss behind D (of t_grok − t_mem); right of 0 D comes first")
    ax.grid(axis="y", visible=False)
    ax.text(1.02, -0.6, "locked", transform=ax.get_yaxis_transform(), size=SMALL, va="bottom")
    entries = [(Line2D([], [], color=colours[s], marker="o", ms=4, mew=0, lw=1.6), s) for s in SCALES]
    legend(figure, [*entries, (Line2D([], [], color="black", marker="|", ls="", ms=8), "middle of the runs")])
    return figure
