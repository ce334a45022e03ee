"""Compressibility against test accuracy: one panel per measure, one point per checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....figures.panels import legend, wrapped
from ....figures.style import PAGE_WIDTH, SMALL, arm_looks, styled


@styled
def compressibility_scatter(points: pd.DataFrame, columns: Mapping[str, tuple[str, str]]) -> Figure:
    """One panel per measure: test accuracy of every checkpoint against it, in the colour of what was changed.

    points    one row per checkpoint, with the columns modulator, test_accuracy and the measures
    columns   what each measure is called, and what was found of it (the correlation), for the panel's title
    """
    figure = Figure(figsize=(PAGE_WIDTH, 2.9))
    axes = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    modulators = list(points["modulator"].unique())
    looks = arm_looks(modulators)
    for ax, (column, (label, found)) in zip(axes, columns.items(), strict=True):
        for name in modulators:
            own = points[points["modulator"] == name]
            style = {"s": 9, "alpha": 0.7, "linewidths": 0, "color": looks[name].colour, "marker": looks[name].marker}
            ax.scatter(own[column], own["test_accuracy"], gid=name, **style)
        ax.set_xlabel(wrapped(label, 30))
        ax.set_title(found, fontsize=SMALL, fontweight="normal")
        ax.set_ylim(-0.04, 1.04)
    axes[0].set_ylabel("test accuracy (fraction)")
    entries = [
        (Line2D([], [], color=look.colour, marker=look.marker, ls="", ms=4.5, mew=0), name)
        for name, look in looks.items()
    ]
    if entries:
        legend(figure, entries)
    return figure
