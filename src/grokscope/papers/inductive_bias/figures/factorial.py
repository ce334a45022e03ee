"""Grokking times of a factorial: one panel per combination of the first factors, one row per level of the last."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....figures import RunCurves, figures
from ....figures.data import by_arm, middle
from ....figures.panels import legend, log_epochs
from ....figures.style import NEUTRAL, PAGE_WIDTH, arm_colours
from ....figures.times import CENSORED


@figures.register("ib-times", needs="epoch", standard=False, title="Grokking times of a factorial")
def times_in_panels(runs: Sequence[RunCurves]) -> Figure:
    """Grokking times of a factorial: a dot per seed, and the median.

    A run that has not grokked stands at its last epoch as a hollow triangle. Arms are named `panel, row`.
    """
    grouped: dict[str, dict[str, list[RunCurves]]] = {}
    for arm, members in by_arm(runs).items():
        panel, _, row = arm.rpartition(", ")
        grouped.setdefault(panel, {})[row] = members
    rows = list(dict.fromkeys(row for own in grouped.values() for row in own))
    columns = 2 if len(grouped) in (2, 4) else min(len(grouped), 3)
    lines = math.ceil(len(grouped) / columns)
    figure = Figure(figsize=(PAGE_WIDTH, 0.7 + lines * (0.55 + 0.2 * len(rows))))
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    colours = arm_colours(rows)
    for ax in axes.flat[len(grouped) :]:
        ax.set_visible(False)
    for ax, (panel, own) in zip(axes.flat, grouped.items(), strict=False):
        ax.set_title(panel)
        for row, members in own.items():
            _row(ax, rows.index(row), members, colours[row])
        ax.grid(axis="y", visible=False)
    shown = [run.last_epoch if run.t_grok is None else run.t_grok for run in runs]
    log_epochs(axes[0, 0], max(min(shown), 1) / 1.3, max(*shown, 1) * 1.3)
    axes[0, 0].set_ylim(len(rows) - 0.4, -0.6)
    axes[0, 0].set_yticks(range(len(rows)), rows)
    for ax in axes.flat:
        ax.tick_params(axis="y", length=0)
    for ax in axes[-1]:
        ax.set_xlabel("epoch of grokking")
    marks = [("o", "none" if hollow else NEUTRAL, label) for hollow, label in ((False, "a seed"), (True, CENSORED))]
    entries = [
        (Line2D([], [], color=NEUTRAL, ls="", marker=">" if face == "none" else mark, mfc=face, ms=4.5, mew=0.9), label)
        for mark, face, label in marks
    ]
    entries.insert(1, (Line2D([], [], color=NEUTRAL, ls="", marker="|", mew=2, ms=8, alpha=0.6), "median"))
    legend(figure, entries)
    return figure


def _row(ax: Axes, row: int, members: Sequence[RunCurves], colour: str) -> None:
    heights = row + np.linspace(-0.22, 0.22, len(members)) if len(members) > 1 else [float(row)]
    for run, height in zip(members, heights, strict=True):
        if run.t_grok is None:
            ax.plot(run.last_epoch, height, ">", color=colour, mfc="none", mew=0.9, ms=4.5, gid="censored")
        else:
            ax.plot(run.t_grok, height, "o", color=colour, alpha=0.85, mew=0, ms=4.5, gid="grokked")
    median = middle(members).t_grok
    if median is not None:
        ax.vlines(median, row - 0.34, row + 0.34, color=colour, lw=2, alpha=0.6, zorder=1.5, gid="median")
