"""Training and test curves (grokking tickets, Figures 2, 4, 5, 9, 13, 15, 16, 19 and 22): how long does test wait for training?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .data import RunCurves, by_arm, need
from .panels import (
    CROWD,
    all_epochs,
    arm_handle,
    draw_seeds,
    legend,
    legend_beside,
    linear_epochs,
    log_epochs,
    log_values,
    outcome,
    overlay,
    overlay_entries,
    panels,
    subtitle,
    wrapped,
)
from .phases import mark_time, time_entries
from .registry import figures
from .style import PAGE_WIDTH, SMALL, TEST_COLOUR, TRAIN_COLOUR, arm_colours

Column = Literal["accuracy", "loss"]
LABELS: dict[Column, str] = {"accuracy": "accuracy (fraction)", "loss": "loss"}
DASHES = (0, (4, 1.6))
TOGETHER = 4
"""With more arms than this, training and test get a panel each."""
MOST = 8
"""With more arms than this that stand in no order, each arm gets a small panel: so many colours cannot be told apart."""
SMALL_PANELS = 5
"""Small panels side by side."""


@figures.register("train-test", needs="test_accuracy", standard=False, title="Training and test")
def train_and_test(
    runs: Sequence[RunCurves],
    *,
    column: Column = "accuracy",
    apart: bool = False,
    ordered: bool = False,
    linear: bool = False,
) -> Figure:
    """Training (dashed) and test (solid) curves, seeds thin under their median.

    column    accuracy, or loss (for regression; on a log scale)
    apart     a panel for each arm; otherwise all arms in one panel, or, where they are many, in one for training and one for test
              (of more than six only the medians), or in a small panel for each
    ordered   colour the arms in their order, as for a setting that grows
    linear    epochs on a linear axis instead of a log axis
    """
    need(runs, f"test_{column}")
    colours = arm_colours(list(by_arm(runs)), ordered=ordered)
    several = _side_by_side if ordered or len(colours) <= MOST else _multiples
    draw = _apart if apart else _together if len(colours) <= TOGETHER else several
    figure = draw(runs, column, colours)
    for ax in figure.axes:
        if linear:
            linear_epochs(ax, all_epochs(runs)[1])
        if column == "accuracy":
            ax.set_ylim(-0.02, 1.03)
    if column == "loss":
        log_values(figure.axes[0])  # the other panels share its scale
    return figure


def _apart(runs: Sequence[RunCurves], column: Column, colours: Mapping[str, str]) -> Figure:
    figure, axes = panels(runs, {LABELS[column]: 1.5})
    for ax, (name, members) in zip(axes[0], by_arm(runs).items(), strict=True):
        draw_seeds(ax, members, f"train_{column}", TRAIN_COLOUR, "training", ls=DASHES, lw=1.2)
        draw_seeds(ax, members, f"test_{column}", colours[name], "test")
        mark_time(ax, members, "t_grok")
        subtitle(ax, outcome(members))
    entries = [
        (Line2D([], [], color=TRAIN_COLOUR, ls=DASHES, lw=1.2), "training"),
        (arm_handle(colours.values()), "test"),
    ]
    legend(figure, [*entries, *time_entries(runs, "t_grok", "grokking")])
    return figure


def _together(runs: Sequence[RunCurves], column: Column, colours: Mapping[str, str]) -> Figure:
    figure = Figure(figsize=(0.75 * PAGE_WIDTH, 2.4))
    ax = figure.add_subplot()
    _axis(ax, runs, LABELS[column])
    for name, members in by_arm(runs).items():
        draw_seeds(ax, members, f"train_{column}", colours[name], "training", ls=DASHES, lw=1.0)
    overlay(ax, runs, f"test_{column}", colours)
    grey = [
        (Line2D([], [], color=TRAIN_COLOUR, ls=DASHES, lw=1.0), "training"),
        (Line2D([], [], color=TRAIN_COLOUR), "test"),
    ]
    legend_beside(figure, [*overlay_entries(runs, colours), *grey])
    return figure


def _side_by_side(runs: Sequence[RunCurves], column: Column, colours: Mapping[str, str]) -> Figure:
    figure = Figure(figsize=(PAGE_WIDTH, 2.5))
    left, right = figure.subplots(1, 2, sharey=True)
    _axis(left, runs, LABELS[column])
    _axis(right, runs, "")
    for ax, title in ((left, "training"), (right, "test")):
        ax.set_title(title)
    crowded = len(colours) > CROWD
    for name, members in by_arm(runs).items():
        draw_seeds(left, members, f"train_{column}", colours[name], name, spread=not crowded, ls=DASHES, lw=1.2)
    overlay(right, runs, f"test_{column}", colours)
    legend(figure, overlay_entries(runs, colours))
    return figure


def _multiples(runs: Sequence[RunCurves], column: Column, colours: Mapping[str, str]) -> Figure:
    """A small panel for each arm, all in the same two colours and on the same axes."""
    arms = by_arm(runs)
    titles = [wrapped(name, 24) for name in arms]
    lines = math.ceil(len(arms) / SMALL_PANELS)
    taller = 0.12 * max(1 + title.count("\n") for title in titles)
    figure = Figure(figsize=(PAGE_WIDTH, lines * (0.8 + taller) + 0.55))
    axes = figure.subplots(lines, SMALL_PANELS, sharex=True, sharey=True, squeeze=False).flatten()
    _axis(axes[0], runs, "")
    for ax, title, members in zip(axes, titles, arms.values(), strict=False):
        ax.set_title(title, size=SMALL, loc="left", pad=3, weight="normal")
        draw_seeds(ax, members, f"train_{column}", TRAIN_COLOUR, "training", ls=DASHES, lw=1.0)
        draw_seeds(ax, members, f"test_{column}", TEST_COLOUR, "test", lw=1.2)
    for ax in axes[len(arms) :]:
        ax.set_visible(False)
    for place, ax in enumerate(axes[: len(arms)]):
        lowest = place + SMALL_PANELS >= len(arms)
        ax.tick_params(labelsize=SMALL, labelbottom=lowest)
        ax.tick_params(axis="x", which="minor", labelbottom=False)
        ax.set_xlabel("epoch" if lowest else "", size=SMALL)
    figure.supylabel(LABELS[column], size=8)
    grey = Line2D([], [], color=TRAIN_COLOUR, ls=DASHES, lw=1.0)
    legend(figure, [(grey, "training"), (Line2D([], [], color=TEST_COLOUR), "test")])
    return figure


def _axis(ax: Axes, runs: Sequence[RunCurves], label: str) -> None:
    log_epochs(ax, *all_epochs(runs))
    ax.set_xlabel("epoch")
    ax.set_ylabel(label)
