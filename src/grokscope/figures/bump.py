"""The train loss before grokking (structural inference §5.1, phase 3): the paper predicts a slight rise and does not show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MultipleLocator, NullFormatter

from .data import RunCurves, by_arm, need
from .layout import legend, subtitle
from .style import PAGE_WIDTH, SMALL, arm_colours, styled

EARLIEST = 0.4
"""Of the time of grokking; what lies before is not drawn."""


@styled
def loss_before_grokking(runs: Sequence[RunCurves]) -> Figure:
    """A panel an arm, a line a run: train loss over its minimum between memorisation and grokking, against epoch / t_grok."""
    need(runs, "train_loss")
    arms = {
        arm: [r for r in members if r.t_grok is not None and r.t_mem is not None]
        for arm, members in by_arm(runs).items()
    }
    columns = min(len(arms), 4)
    lines = -(-len(arms) // columns)
    figure = Figure(figsize=(PAGE_WIDTH, 1.75 * lines + 0.75))
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    colours = arm_colours(list(arms))
    for place, ax in enumerate(axes.flat):
        ax.set_visible(place < len(arms))
    for ax, (arm, members) in zip(axes.flat, arms.items(), strict=False):
        for run in members:
            ax.plot(*_ratio(run), color=colours[arm], lw=0.7, alpha=0.8)
        ax.axhline(1, color="black", lw=0.6, zorder=1)
        ax.axhline(1.1, color="black", lw=0.8, ls=(0, (2, 2)), zorder=1)
        ax.axvline(1, color="#666666", lw=0.8, ls="--", zorder=1)
        ax.set_title(arm, pad=19)
        subtitle(ax, f"{len(members)} runs that grokked" if members else "no run grokked")
    first = axes[0, 0]
    first.set_xlim(EARLIEST, 1.03)
    first.set_yscale("log")
    first.set_ylim(0.8, 100)
    first.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    first.yaxis.set_minor_formatter(NullFormatter())
    first.xaxis.set_major_locator(MultipleLocator(0.2))
    figure.supxlabel("epoch / epoch of grokking", size=SMALL + 1)
    figure.supylabel("train loss / its minimum", size=SMALL + 1)
    legend(
        figure,
        [
            (Line2D([], [], color="#666666", lw=0.7), "a run"),
            (Line2D([], [], color="black", lw=0.8, ls=(0, (2, 2))), "10 % above the minimum"),
            (Line2D([], [], color="#666666", lw=0.8, ls="--"), "grokking"),
        ],
    )
    return figure


def _ratio(run: RunCurves) -> tuple[np.ndarray, np.ndarray]:
    """Epochs over t_grok, and the loss over its lowest value between t_mem and t_grok."""
    epochs, loss = run.series("train_loss")
    assert run.t_grok is not None and run.t_mem is not None
    between = (epochs >= run.t_mem) & (epochs <= run.t_grok)
    lowest = np.nanmin(loss[between]) if between.any() else np.nan
    return epochs / run.t_grok, loss / lowest
