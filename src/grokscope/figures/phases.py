"""Phases and grokking times as marks on a panel. The borders come from the analysis; here they only get colours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .data import RunCurves, middle
from .style import PHASE_COLOURS, SMALL

TIME_LINES = {"t_mem": ":", "t_grok": "--", "branched": "-."}


PHASES = ("memorisation", "plateau", "resurgence", "grokking")
"""The paper's numbering: grokking is phase 4 also where a run skips phase 3."""


def phase_names(runs: Sequence[RunCurves]) -> list[str]:
    """All phases that occur, in the order of their numbers."""
    return sorted({name for run in runs for name, *_ in run.phases}, key=PHASES.index)


def shade_phases(ax: Axes, run: RunCurves, *, strip: bool) -> None:
    """Pale bands behind the data; with `strip` also a stronger strip above the panel with the numbers of the phases.

    Needs the final limits of the epoch axis.
    """
    low, high = ax.get_xlim()
    for name, start, end in run.phases:
        left, right = max(start, low), min(run.last_epoch if end is None else end, high)
        if right <= left:
            continue
        number = PHASES.index(name)
        colour = PHASE_COLOURS[number]
        ax.axvspan(left, right, color=colour, alpha=0.45, lw=0, zorder=0)
        if strip:
            ax.axvspan(left, right, ymin=1.015, ymax=1.085, color=colour, lw=0, clip_on=False)
            if np.log(right / left) > 0.05 * np.log(high / low):
                centre = float(np.sqrt(left * right))
                where = ax.get_xaxis_transform()
                ax.text(centre, 1.047, str(number + 1), transform=where, size=SMALL, ha="center", va="center_baseline")


def phase_entries(names: Sequence[str]) -> list[tuple[Patch, str]]:
    """Legend entries: a patch for each phase, with its number and name."""
    return [
        (Patch(facecolor=PHASE_COLOURS[number]), f"{number + 1} {name}")
        for number, name in enumerate(PHASES)
        if name in names
    ]


def mark_time(ax: Axes, runs: Sequence[RunCurves], time: str, *, seeds: bool = False) -> None:
    """A vertical line at `time` (t_mem, t_grok or branched) of the arm's middle run; with `seeds` a tick mark for every run."""
    at = getattr(middle(runs), time)
    if at:
        ax.axvline(at, color="black", lw=0.8, ls=TIME_LINES[time], zorder=2.5, gid=time)
    every = [value for run in runs if (value := getattr(run, time))]
    if seeds and every:
        heights, where = [0.035] * len(every), ax.get_xaxis_transform()
        ax.plot(every, heights, "^k", ms=4.5, mec="white", mew=0.5, transform=where, zorder=4, gid="seeds")


def time_entries(runs: Sequence[RunCurves], time: str, label: str, *, seeds: bool = False) -> list[tuple[Line2D, str]]:
    """The legend entry of `mark_time`; none where no run has that time."""
    if not any(getattr(run, time) for run in runs):
        return []
    marker = "^" if seeds else ""
    return [(Line2D([], [], color="black", lw=0.8, ls=TIME_LINES[time], marker=marker, ms=4, mew=0), label)]
