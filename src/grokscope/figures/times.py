"""Grokking times of all runs, with those that have not grokked in sight: a comparison needs its censored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .data import RunCurves, by_arm, middle
from .panels import log_epochs, wrapped
from .registry import figures
from .style import NEUTRAL, PAGE_WIDTH, SMALL, arm_colours

FEW = 8
"""Most seeds of an arm whose marks have their full size."""
CENSORED = "not grokked by its last epoch (censored)"


@figures.register(
    "times",
    needs="epoch",
    order=20,
    title="Grokking times",
    shows="Dot plot of the epoch of grokking, one row per arm and one dot per seed.",
    caption="Every run is here, also those that have not grokked: a hollow triangle says “not by this epoch”, which is all "
    "that is known about it. Compare whole clouds of seeds, not single runs; the scale is logarithmic, so equal "
    "distances are equal factors.",
)
def grokking_times(runs: Sequence[RunCurves], medians: Mapping[str, float | None] | None = None) -> Figure:
    """One row per arm: a dot per seed at its grokking time, and the median.

    A run that has not grokked stands at its last epoch as a hollow triangle.

    medians   median grokking time of each arm (None = not reached), e.g. Kaplan–Meier's; without it the bar stands at
              the (lower) middle run, which is the same when no run was cut short before it
    """
    arms = by_arm(runs)
    labels = [wrapped(name, 28) for name in arms]
    most = max(1 + label.count("\n") for label in labels)
    figure = Figure(figsize=(0.75 * PAGE_WIDTH, 0.95 + max(0.36, 0.06 + 0.145 * most) * len(arms)))
    ax = figure.add_subplot()
    colours = arm_colours(list(arms))
    for row, (name, members) in enumerate(arms.items()):
        dot, triangle, edge = (5.0, 5.5, 1.1) if len(members) <= FEW else (3.6, 3.2, 0.6)
        for run, height in zip(members, _spread(row, len(members)), strict=True):
            if run.t_grok is None:
                colour = colours[name]
                ax.plot(run.last_epoch, height, ">", color=colour, mfc="none", mew=edge, ms=triangle, gid="censored")
            else:
                ax.plot(run.t_grok, height, "o", color=colours[name], alpha=0.85, mew=0, ms=dot, gid="grokked")
        median = middle(members).t_grok if medians is None else medians.get(name)
        if median is not None:
            ax.vlines(median, row - 0.33, row + 0.33, color=colours[name], lw=2.2, alpha=0.6, zorder=1.5, gid="median")
        grokked = sum(run.t_grok is not None for run in members)
        where = ax.get_yaxis_transform()
        ax.text(1.02, row, f"{grokked} of {len(members)}", transform=where, size=SMALL, va="center")
    ax.text(1.02, -0.62, "grokked", transform=ax.get_yaxis_transform(), size=SMALL, va="center")
    shown = [run.last_epoch if run.t_grok is None else run.t_grok for run in runs]
    log_epochs(ax, max(min(shown), 1) / 1.5, max(*shown, 1) * 1.5)
    criteria = {run.criterion for run in runs}
    ax.set_xlabel(
        f"epoch of grokking ({criteria.pop()})" if len(criteria) == 1 and any(criteria) else "epoch of grokking"
    )
    ax.set_ylim(len(arms) - 0.45, -0.55)
    if all(run.t_grok is None for run in runs):  # else the picture could be taken for an empty one
        ax.set_title(f"none of {len(runs)} runs grokked" if len(runs) > 1 else "the run has not grokked", pad=14)
    ax.set_yticks(range(len(arms)), labels)
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.grid(axis="y", visible=False)
    handles = [
        Line2D([], [], color=NEUTRAL, ls="", marker="o", mew=0, ms=5, label="a seed"),
        Line2D([], [], color=NEUTRAL, ls="", marker="|", mew=2.2, ms=9, alpha=0.6, label="median"),
    ]
    if any(run.t_grok is None for run in runs):
        handles.append(Line2D([], [], color=NEUTRAL, ls="", marker=">", mew=1.1, ms=5.5, mfc="none", label=CENSORED))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, handlelength=1.2)
    return figure


def _spread(row: int, seeds: int) -> list[float]:
    """Heights that keep the seeds of one row apart."""
    tall = 0.44 if seeds <= FEW else 0.7
    return [row + (tall * (seed / (seeds - 1) - 0.5) if seeds > 1 else 0.0) for seed in range(seeds)]
