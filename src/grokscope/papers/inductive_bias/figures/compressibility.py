"""Compressibility against test accuracy: all checkpoints, and the rank correlation for each thing that was changed."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....analysis.correlation import Correlation
from ....figures.panels import legend, wrapped
from ....figures.style import NEUTRAL, OTHERS, PAGE_WIDTH, SMALL, styled

ALL = "all"
Found = Mapping[str, Mapping[str, Correlation]]
"""By measure and by modulator: the rank correlation with test accuracy."""


@styled
def compressibility_scatter(points: pd.DataFrame, labels: Mapping[str, str], found: Found) -> Figure:
    """One column per measure: test accuracy of every checkpoint against it above, rank correlations by modulator below.

    points   one row per checkpoint, with the columns test_accuracy and the measures
    labels   what each measure is called
    """
    modulators = list(next(iter(found.values()))) if found else []
    heights = (1.9, 0.35 + 0.17 * len(modulators))
    figure = Figure(figsize=(PAGE_WIDTH, sum(heights) + 0.8))
    axes = figure.subplots(2, len(labels), squeeze=False, height_ratios=heights, sharey="row")
    for above, below, (column, label) in zip(*axes, labels.items(), strict=True):
        above.scatter(points[column], points["test_accuracy"], s=5, alpha=0.35, linewidths=0, color=NEUTRAL, gid="all")
        above.set_xlabel(wrapped(label, 30))
        above.set_ylim(-0.04, 1.04)
        below.axvline(0, color=NEUTRAL, lw=0.8, zorder=1)
        for row, modulator in enumerate(modulators):
            _interval(below, row, found[column][modulator], bold=modulator == ALL)
        below.set_xlim(-1.05, 1.05)
        below.set_xlabel("rank correlation ρ\nwith test accuracy", size=SMALL)
        below.grid(axis="y", visible=False)
    axes[0, 0].set_ylabel("test accuracy (fraction)")
    axes[1, 0].set_yticks(range(len(modulators)), modulators)
    axes[1, 0].set_ylim(len(modulators) - 0.5, -0.5)
    axes[1, 0].tick_params(axis="y", length=0)
    entries = [
        (Line2D([], [], color=NEUTRAL, ls="", marker="o", ms=3, mew=0, alpha=0.6), "a checkpoint that has memorised"),
        (Line2D([], [], color=OTHERS[0], marker="o", ms=4, mew=0, lw=1.4), "Spearman's ρ and its 95 % interval"),
    ]
    legend(figure, entries)
    return figure


def _interval(ax: Axes, row: int, found: Correlation, *, bold: bool) -> None:
    """A dot with its interval; nothing where a side does not vary."""
    if found.rho != found.rho:
        ax.text(0, row, "does not vary", size=SMALL, ha="center", va="center")
        return
    ax.plot([found.low, found.high], [row, row], color=OTHERS[0], lw=2.0 if bold else 1.2, gid="interval")
    ax.plot(found.rho, row, "o", color=OTHERS[0], ms=5 if bold else 4, mew=0, gid="ρ")
