"""Accuracy and divergence over epochs (structural inference, Figure 1 left): does D fall before test accuracy rises?

D = KL(α*‖α) stands in a row of its own, on a log scale, instead of on a second axis: two scales in one panel invite
reading meaning into where the lines cross.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .data import RunCurves, by_arm, middle, recorded
from .layout import (
    all_epochs,
    arm_handle,
    columns_of,
    draw_seeds,
    how_many,
    label_rows,
    legend,
    log_epochs,
    log_values,
    panels,
    subtitle,
)
from .phases import mark_time, phase_entries, phase_names, shade_phases, time_handle
from .style import SMALL, TRAIN_COLOUR, arm_colours, styled


@styled
def accuracy_and_divergence(runs: Sequence[RunCurves]) -> Figure:
    """One column an arm: train and test accuracy above, D below, with the phases of the arm's middle run as bands."""
    arms = by_arm(runs)
    names, colours = phase_names(runs), arm_colours(list(arms))
    divergence = recorded(runs, "D")
    figure, axes = panels(list(arms), (1.55, 1.15) if divergence else (1.75,))
    log_epochs(axes[0, 0], *all_epochs(runs))
    axes[0, 0].set_ylim(-0.02, 1.03)
    for arm, (name, members) in enumerate(arms.items()):
        above = axes[0, arm]
        draw_seeds(above, members, "train_accuracy", TRAIN_COLOUR, "train", ls="--", lw=1.2)
        draw_seeds(above, members, "test_accuracy", colours[name], "test")
        subtitle(above, _outcome(members))
        if not any(run.t_grok for run in members):
            _say_never(above)
        if divergence:
            draw_seeds(axes[1, arm], members, "D", colours[name], "D")
        for row, ax in enumerate(axes[:, arm]):
            shade_phases(ax, middle(members), names, strip=row == 0)
            mark_time(ax, members, "t_grok", seeds=row == 0)
    if divergence:
        log_values(axes[1, 0])
    label_rows(axes, columns_of(axes), ("accuracy (fraction)", "D = KL(α*‖α) (nats)"))
    entries = [
        (Line2D([], [], color=TRAIN_COLOUR, ls="--", lw=1.2), "train accuracy"),
        (arm_handle(colours.values()), "test accuracy" + (", D" if divergence else "")),
        (time_handle("t_grok", seeds=True), "grokking"),
    ]
    legend(figure, [*entries, *phase_entries(names)], 2 + columns_of(axes) // 2)
    return figure


def _outcome(runs: Sequence[RunCurves]) -> str:
    at = middle(runs).t_grok
    return how_many(runs) + (f", middle seed at {at:,}" if at and len(runs) > 1 else "")


def _say_never(ax: Axes) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}
    ax.text(0.97, 0.5, "never grokked", transform=ax.transAxes, size=SMALL, ha="right", va="center", bbox=box, zorder=4)
