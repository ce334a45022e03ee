"""Training and test curves (grokking tickets, Figures 2, 4, 5, 9, 13, 15, 16, 19 and 22): how long does test wait for training?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .curves import HALF, draw_seeds, overlay_panels
from .data import FRACTIONS, RunCurves, by_arm, need, score_of
from .facets import facets
from .panels import (
    all_epochs,
    arm_handle,
    legend,
    linear_epochs,
    log_epochs,
    log_values,
    outcome,
    panels,
    subtitle,
    wrapped,
)
from .phases import mark_time, time_entries
from .registry import figures
from .style import NEUTRAL, PAGE_WIDTH, SMALL, TRAIN_COLOUR, TRAIN_DASHES, arm_colours

Column = Literal["accuracy", "loss"]
SMALL_PANELS = 5
"""Small panels side by side."""


@figures.register("train-test", needs="test_accuracy", standard=False, title="Training and test")
def train_and_test(
    runs: Sequence[RunCurves], *, column: Column = "accuracy", apart: bool = False, linear: bool = False
) -> Figure:
    """Training and test curves of each arm: how long does test wait for training?

    column    accuracy (R² of a regression), or loss (on a log scale)
    apart     a panel for each arm with both curves; otherwise arms share panels, or, where they are many and stand in no order,
              have a small panel each
    linear    epochs on a linear axis instead of a log axis
    """
    need(runs, f"test_{column}")
    arms = list(by_arm(runs))
    parts = facets(arms)
    if apart or len(arms) == 1:
        figure = _apart(runs, column)
    elif len(parts) == len(arms):
        figure = _multiples(runs, column)
    else:
        labels = {
            f"train_{column}": f"training {_label(runs, column)}",
            f"test_{column}": f"test {_label(runs, column)}",
        }
        limits = dict.fromkeys(labels, FRACTIONS) if column == "accuracy" else {}
        figure, _ = overlay_panels(runs, labels, heights=(1.15, 1.75), log=column == "loss", limits=limits)
    for ax in figure.axes:
        if ax.get_xscale() != "log":  # the bar of a sequence
            continue
        if linear:
            linear_epochs(ax, all_epochs(runs)[1])
        if column == "accuracy":
            ax.set_ylim(*FRACTIONS)
    if column == "loss":
        log_values(figure.axes[0])  # the other panels of its row share its scale
    return figure


def _label(runs: Sequence[RunCurves], column: Column) -> str:
    return score_of(runs) if column == "accuracy" else column


def _apart(runs: Sequence[RunCurves], column: Column) -> Figure:
    colours = arm_colours(list(by_arm(runs)))
    figure, axes = panels(runs, {_label(runs, column): 1.5})
    for ax, (name, members) in zip(axes[0], by_arm(runs).items(), strict=True):
        draw_seeds(ax, members, f"train_{column}", TRAIN_COLOUR, "training", ls=TRAIN_DASHES, lw=1.2)
        draw_seeds(ax, members, f"test_{column}", colours[name], "test")
        mark_time(ax, members, "t_grok")
        subtitle(ax, outcome(members))
    entries = [
        (Line2D([], [], color=TRAIN_COLOUR, ls=TRAIN_DASHES, lw=1.2), "training"),
        (arm_handle(colours.values()), "test"),
    ]
    legend(figure, [*entries, *time_entries(runs, "t_grok", "grokking")])
    return figure


def _multiples(runs: Sequence[RunCurves], column: Column) -> Figure:
    """A small panel for each arm, all on the same axes."""
    arms = by_arm(runs)
    colours = arm_colours(list(arms))
    titles = [wrapped(name, 24) for name in arms]
    tallest = max(1 + title.count("\n") for title in titles)
    titles = ["\n" * (tallest - 1 - title.count("\n")) + title for title in titles]  # rows of panels of equal height
    lines = math.ceil(len(arms) / SMALL_PANELS)
    figure = Figure(figsize=(PAGE_WIDTH, lines * (0.75 + 0.12 * tallest) + 0.75))
    axes = figure.subplots(lines, SMALL_PANELS, sharex=True, sharey=True, squeeze=False).flatten()
    log_epochs(axes[0], *all_epochs(runs))
    for ax, title, (name, members) in zip(axes, titles, arms.items(), strict=False):
        ax.set_title(title, size=SMALL, loc="left", pad=3, weight="normal")
        draw_seeds(ax, members, f"train_{column}", TRAIN_COLOUR, "training", spread="none", ls=TRAIN_DASHES, lw=1.0)
        draw_seeds(ax, members, f"test_{column}", colours[name], "test", spread="half", lw=1.4)
    for ax in axes[len(arms) :]:
        ax.set_visible(False)
    for place, ax in enumerate(axes[: len(arms)]):
        ax.tick_params(labelsize=SMALL, labelbottom=place + SMALL_PANELS >= len(arms))
        ax.tick_params(axis="x", which="minor", labelbottom=False)
        ax.set_xlabel("epoch" if place >= SMALL_PANELS * (lines - 1) else "", size=SMALL)
    figure.supylabel(_label(runs, column), size=8)
    grey = Line2D([], [], color=TRAIN_COLOUR, ls=TRAIN_DASHES, lw=1.0)
    entries = [(grey, "training"), (arm_handle(colours.values()), "test")]
    if max(map(len, arms.values())) > 2:
        entries.append((Patch(facecolor=NEUTRAL, alpha=0.2, lw=0), HALF))
    legend(figure, entries)
    return figure
