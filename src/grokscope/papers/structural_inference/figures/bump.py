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
DOTS = (0, (2, 2))


@figures.register("si-bump", needs="train_loss", standard=False, title="Train loss before grokking")
def loss_before_grokking(runs: Sequence[RunCurves]) -> Figure:
    """One panel per arm, one line per run: train loss over its minimum since memorisation, against epoch / t_grok."""
    need(runs, "train_loss")
    arms = by_arm(runs)
    colours = arm_colours(list(arms))
    shown = {
        arm: own for arm, members in arms.items() if (own := [r for r in members if r.t_grok and r.t_mem is not None])
    }
    columns = min(max(len(shown), 1), 3)
    lines = max(-(-len(shown) // columns), 1)
    figure = Figure(figsize=(PAGE_WIDTH * max(columns, 2) / 3, 1.75 * lines + 0.75))
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for place, ax in enumerate(axes.flat):
        ax.set_visible(place < max(len(shown), 1))
    highest = 2.0
    for ax, (arm, members) in zip(axes.flat, shown.items(), strict=False):
        for when, ratio in map(_ratio, members):
            ax.plot(when, ratio, color=colours[arm], lw=0.8, alpha=0.8)
            highest = max(highest, np.nanmax(ratio, initial=1))
        ax.axhline(1, color="black", lw=0.6, zorder=1)
        ax.axhline(1.1, color="black", lw=0.9, ls=DOTS, zorder=1)
        ax.axvline(1, color=NEUTRAL, lw=0.9, ls="--", zorder=1)
        ax.set_title(arm, pad=19)
        subtitle(ax, f"{len(members)} of {len(arms[arm])} runs grokked")
    first = axes[0, 0]
    first.set_xlim(EARLIEST, 1.03)
    first.set_yscale("log")
    first.set_ylim(0.7, 1.3 * highest)
    first.yaxis.set_major_locator(LogLocator(numticks=6))
    first.yaxis.set_major_formatter(FuncFormatter(_times))
    first.yaxis.set_minor_formatter(NullFormatter())
    first.xaxis.set_major_locator(MultipleLocator(0.2))
    for place, ax in enumerate(axes.flat):
        ax.set_xlabel("epoch / epoch of grokking" if place + columns >= len(shown) else "")
        ax.tick_params(labelbottom=place + columns >= len(shown))
    for ax in axes[:, 0]:
        ax.set_ylabel("train loss / its minimum")
    entries = [
        (Line2D([], [], color=NEUTRAL, lw=0.8), "a run"),
        (Line2D([], [], color="black", lw=0.9, ls=DOTS), "10 % above the minimum"),
        (Line2D([], [], color=NEUTRAL, lw=0.9, ls="--"), "grokking"),
    ]
    if never := [arm for arm in arms if arm not in shown]:
        entries.append((Line2D([], [], ls=""), f"no run grokked: {', '.join(never)}"))
    legend(figure, entries)
    return figure


def _times(value: float, tick: int | None = None) -> str:
    """1×, 100×, 10k×; the signature is that of a tick formatter."""
    return f"{short_number(value)}×"


def _ratio(run: RunCurves) -> tuple[Values, Values]:
    """Epochs over t_grok from EARLIEST on, and the loss over its lowest value between t_mem and t_grok. A loss of zero, below what
    float32 can tell from it, is left out."""
    epochs, loss = run.series("train_loss")
    loss = np.where(loss > 0, loss, np.nan)
    assert run.t_grok is not None and run.t_mem is not None
    between = (epochs >= run.t_mem) & (epochs <= run.t_grok)
    lowest = np.nanmin(loss[between]) if between.any() else np.nan
    late = epochs >= EARLIEST * run.t_grok
    return epochs[late] / run.t_grok, loss[late] / lowest
