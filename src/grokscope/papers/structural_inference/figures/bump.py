"""The train loss before grokking (structural inference §5.1, phase 3): the paper predicts a slight rise and does not show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MultipleLocator, NullFormatter

from ....figures.data import RunCurves, Values, by_arm, need
from ....figures.panels import legend, short_number, subtitle
from ....figures.registry import figures
from ....figures.style import NEUTRAL, PAGE_WIDTH, arm_colours

EARLIEST = 0.4
"""Of the time of grokking; what lies before is not drawn."""
LOWEST = 0.002
"""Least rise that is drawn; a loss at its minimum has none, which a log scale cannot show."""
DOTS = (0, (2, 2))


@figures.register("si-bump", needs="train_loss", standard=False, title="Train loss before grokking")
def loss_before_grokking(runs: Sequence[RunCurves]) -> Figure:
    """One panel per arm, one line per run: how far train loss is above its minimum since memorisation, against epoch / t_grok.

    Each panel has its own scale. A line that leaves it below is at its minimum; one that comes back is the rise that is asked for.
    """
    need(runs, "train_loss")
    arms = by_arm(runs)
    colours = arm_colours(list(arms))
    shown = {
        arm: own for arm, members in arms.items() if (own := [r for r in members if r.t_grok and r.t_mem is not None])
    }
    columns = min(max(len(shown), 1), 3)
    lines = max(-(-len(shown) // columns), 1)
    figure = Figure(figsize=(PAGE_WIDTH * max(columns, 2) / 3, 1.75 * lines + 0.75))
    axes = figure.subplots(lines, columns, sharex=True, squeeze=False)
    for place, ax in enumerate(axes.flat):
        ax.set_visible(place < max(len(shown), 1))
    for ax, (arm, members) in zip(axes.flat, shown.items(), strict=False):
        highest = 1.0
        for when, above in map(_above, members):
            ax.plot(when, above, color=colours[arm], lw=0.8, alpha=0.8)
            highest = max(highest, np.nanmax(above, initial=0))
        ax.axhline(0.1, color="black", lw=1.1, ls=DOTS, zorder=4)
        ax.axvline(1, color=NEUTRAL, lw=0.9, ls="--", zorder=1)
        ax.set_yscale("log", nonpositive="mask")
        ax.set_ylim(LOWEST, 2 * highest)
        ax.yaxis.set_major_locator(LogLocator(numticks=6))
        ax.yaxis.set_major_formatter(FuncFormatter(_more))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_title(arm, pad=19)
        subtitle(ax, f"{len(members)} of {len(arms[arm])} runs grokked")
    first = axes[0, 0]
    first.set_xlim(EARLIEST, 1.03)
    first.xaxis.set_major_locator(MultipleLocator(0.2))
    for place, ax in enumerate(axes.flat):
        ax.set_xlabel("epoch / epoch of grokking" if place + columns >= len(shown) else "")
        ax.tick_params(labelbottom=place + columns >= len(shown))
    for ax in axes[:, 0]:
        ax.set_ylabel("train loss above\nits minimum")
    entries = [
        (Line2D([], [], color=NEUTRAL, lw=0.8), "a run"),
        (Line2D([], [], color="black", lw=0.9, ls=DOTS), "10 % above the minimum"),
        (Line2D([], [], color=NEUTRAL, lw=0.9, ls="--"), "grokking"),
    ]
    never = [arm for arm in arms if arm not in shown]
    legend(figure, entries, f"no run grokked: {', '.join(never)}" if never else "")
    return figure


def _more(value: float, tick: int | None = None) -> str:
    """0.1 %, 10 %, 100 %, 10×, 10k×; the signature is that of a tick formatter."""
    return f"{100 * value:g} %" if value <= 1 else f"{short_number(value)}×"


def _above(run: RunCurves) -> tuple[Values, Values]:
    """Epochs over t_grok from EARLIEST on, and how far the loss is above its lowest value between t_mem and t_grok, as a multiple
    of it. A loss of zero, below what float32 can tell from it, is left out."""
    epochs, loss = run.series("train_loss")
    loss = np.where(loss > 0, loss, np.nan)
    assert run.t_grok is not None and run.t_mem is not None
    between = (epochs >= run.t_mem) & (epochs <= run.t_grok)
    lowest = np.nanmin(loss[between]) if between.any() else np.nan
    late = epochs >= EARLIEST * run.t_grok
    return epochs[late] / run.t_grok, loss[late] / lowest - 1
