"""Accuracy and divergence over epochs (structural inference, Figure 1 left): does D fall before test accuracy rises?

D = KL(α*‖α) has its own row, on a log scale, instead of on a second axis: two scales in one panel invite
reading meaning into where the lines cross.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .curves import draw_seeds, overlay_panels
from .data import FRACTIONS, RunCurves, by_arm, middle, need, recorded, score_of
from .panels import arm_handle, legend, log_values, outcome, panels, subtitle
from .phases import mark_time, phase_entries, phase_names, shade_phases, time_entries
from .registry import figures
from .style import SMALL, TRAIN_COLOUR, TRAIN_DASHES, arm_colours

D_LABEL = "D = KL(α*‖α) (nats)"


@figures.register(
    "accuracy",
    needs="test_accuracy",
    order=10,
    title="Accuracy and divergence",
    shows="Line charts over epochs on a log scale: train and test accuracy above, divergence D below.",
    caption="Look first at the gap between the grey train curve and the coloured test curve: that is the wait called "
    "grokking. Then look down: D measures how far attention is from the informative positions (0 = exactly on "
    "them). If structure is what the run is waiting for, D falls before test accuracy rises. "
    "The shaded phases are those of the middle seed; triangles mark when each seed grokked.",
)
def accuracy_and_divergence(runs: Sequence[RunCurves]) -> Figure:
    """One column per arm: train and test accuracy above, D below, with the phases of the arm's middle run as bands."""
    need(runs, "test_accuracy")
    arms = by_arm(runs)
    # the phases that are shaded, which other seeds of an arm may have more of
    names, colours = phase_names([middle(members) for members in arms.values()]), arm_colours(list(arms))
    divergence, score = recorded(runs, "D"), score_of(runs)
    figure, axes = panels(runs, {_fraction(score): 1.55} | ({D_LABEL: 1.15} if divergence else {}))
    axes[0, 0].set_ylim(*FRACTIONS)
    for arm, (name, members) in enumerate(arms.items()):
        above = axes[0, arm]
        draw_seeds(above, members, "train_accuracy", TRAIN_COLOUR, "train", ls=TRAIN_DASHES, lw=1.2)
        draw_seeds(above, members, "test_accuracy", colours[name], "test")
        subtitle(above, outcome(members))
        if divergence:
            draw_seeds(axes[1, arm], members, "D", colours[name], "D")
            _say_zero(axes[1, arm], members)
        for row, ax in enumerate(axes[:, arm]):
            shade_phases(ax, middle(members), strip=row == 0)
            mark_time(ax, members, "branched")
            mark_time(ax, members, "t_grok", seeds=row == 0)
    if divergence:
        log_values(axes[1, 0], 2 * _largest_divergence(runs))
    entries = [
        (Line2D([], [], color=TRAIN_COLOUR, ls=TRAIN_DASHES, lw=1.2), f"train {score}"),
        (arm_handle(colours.values()), f"test {score}" + (", D" if divergence else "")),
        *time_entries(runs, "branched", "branch"),
        *time_entries(runs, "t_grok", "grokking", seeds=True),
    ]
    legend(figure, [*entries, *phase_entries(names)])
    return figure


def _fraction(score: str) -> str:
    """The label of an axis; R² is a fraction by definition."""
    return f"{score} (fraction)" if score == "accuracy" else score


def _largest_divergence(runs: Sequence[RunCurves]) -> float:
    """Of runs that did not diverge, if there are any: those that did end at numbers beside which nothing else is seen."""
    steady = [run for run in runs if run.status != "diverged"]
    return max((float(np.nanmax(d)) for run in steady if np.isfinite(d := run.series("D")[1]).any()), default=math.inf)


def _say_zero(ax: Axes, runs: Sequence[RunCurves]) -> None:
    """Attention that is frozen or clamped to the oracle has D = 0, which a log axis cannot show."""
    since = [start for run in runs if (start := _zero_since(run)) is not None]
    if not since or len(since) < len(runs) / 2:
        return
    if max(since) == 0:
        ax.text(0.5, 0.5, "D = 0 throughout", transform=ax.transAxes, size=SMALL, ha="center")
        return
    start = float(ax.transAxes.inverted().transform(ax.transData.transform((np.median(since), 1)))[0])
    before = start > 0.6  # there is more room to the left
    across, side = (start - 0.03, "right") if before else (start + 0.03, "left")
    ax.text(across, 0.08, "then\nD = 0", transform=ax.transAxes, size=SMALL, ha=side)


def _zero_since(run: RunCurves) -> float | None:
    """The first epoch from which on D is 0; 0 where it always is, None where it is not at the end."""
    epochs, values = run.series("D")
    epochs, values = epochs[np.isfinite(values)], values[np.isfinite(values)]
    if not values.size or values[-1] > 0:
        return None
    above = np.flatnonzero(values > 0)
    return float(epochs[above[-1] + 1]) if above.size else 0.0


@figures.register(
    "accuracy-overlay", needs="test_accuracy", standard=False, title="Accuracy and divergence, arms together"
)
def accuracy_overlay(runs: Sequence[RunCurves]) -> Figure:
    """Training accuracy, test accuracy and D over epochs, arms on common axes: does D fall before test accuracy rises?"""
    need(runs, "test_accuracy")
    score = score_of(runs)
    rows = {"train_accuracy": f"training\n{score}", "test_accuracy": f"test {_fraction(score)}".replace(" (", "\n(")}
    rows |= {"D": D_LABEL.replace(" (", "\n(")} if recorded(runs, "D") else {}
    limits = dict.fromkeys(("train_accuracy", "test_accuracy"), FRACTIONS)
    return overlay_panels(runs, rows, heights=(0.9, 1.5, 1.3)[: len(rows)], log=("D",), limits=limits)[0]
