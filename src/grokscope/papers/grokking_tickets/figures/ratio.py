"""Times of memorising and generalising against a number, and their ratio τ_grok (grokking tickets, Figures 3 and 23)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ....errors import ConfigError
from ....experiments.clocks import FIRST_95, MEMORISED_95
from ....figures.data import Values
from ....figures.panels import legend, short_number, wrapped
from ....figures.registry import figures
from ....figures.style import OTHERS, PAGE_WIDTH, TEST_COLOUR, TRAIN_COLOUR

if TYPE_CHECKING:
    from ....store.results import Results

RATIO, GENERALISED, MEMORISED = OTHERS[0], TEST_COLOUR, TRAIN_COLOUR
NEVER = "not by its last epoch: the truth lies higher"
FAR = 30
"""Numbers that span such a factor are shown on a log scale."""


CLOSE = 0.03
"""Numbers that are closer together than this share of their range stand side by side, at equal distances."""


@figures.register("gt-ratio", takes="results", title="Memorising, generalising, and their ratio")
def ratio_against(
    results: Results, *, by: str, name: str, zero: str | None = None, arms: Sequence[str] | None = None
) -> Figure:
    """τ_grok = t_gen/t_mem, first crossings of 95 %, on the left; t_mem and t_gen on the right.

    One point per run, a line through the medians.

    A run that never got there stands at its last epoch as a hollow triangle, and counts as later than all others: where it is
    the median, the line is broken.

    by     the setting on the horizontal axis, on a log scale where it spans a factor of 30 or more; its values stand at equal
           distances where some are too close to tell apart
    name   what that setting is called
    zero   the arm that stands at 0, such as the network that is not pruned
    arms   only these arms, and `zero`; by default every arm that has a number
    """
    x = pd.to_numeric(results.runs[by], errors="coerce").where(results.runs["arm"] != zero, 0.0)
    shown = x.notna() & (True if arms is None else results.runs["arm"].isin([*arms, zero]))
    if not shown.any():
        raise ConfigError("by", f"no run has a number for {by}")
    x, drawn = x[shown].to_numpy(dtype=np.float64), results.runs[shown]
    times = ("epoch", MEMORISED_95.time, FIRST_95.time)
    last, t_mem, t_gen = (pd.to_numeric(drawn[time]).to_numpy(dtype=np.float64) for time in times)
    log = bool(x.min() > 0 and x.max() >= FAR * x.min())
    numbers, places = np.unique(x, return_inverse=True)
    even = not log and len(numbers) > 2 and float(np.diff(numbers).min()) < CLOSE * float(np.ptp(numbers))
    x = places.astype(np.float64) if even else x
    figure = Figure(figsize=(PAGE_WIDTH, 2.6))
    left, right = figure.subplots(1, 2)
    gap = _gap(x, log)
    start = np.where(t_mem > 0, t_mem, np.nan)
    _series(left, x, t_gen / start, last / start, RATIO, "o", 0.0, log)
    _series(right, x, t_mem, last, MEMORISED, "s", -gap, log)
    _series(right, x, t_gen, last, GENERALISED, "o", gap, log)
    left.axhline(1, color="black", lw=0.7, ls=":", zorder=1)
    left.set_ylabel("τ_grok = t_gen / t_mem")
    right.set_ylabel("epoch with 95 % accuracy")
    for ax in (left, right):
        ax.set_xlabel(wrapped(name if zero is None else f"{name} (0: {zero})", 46))
        _log_axis(ax)
        ax.margins(y=0.12)
        if even:
            ax.set_xticks(range(len(numbers)), [f"{number:g}" for number in numbers])
        elif log:
            ax.set_xscale("log")
        elif x.max() >= 1000:
            ax.xaxis.set_major_formatter(FuncFormatter(short_number))
    entries = [
        (Line2D([], [], color=RATIO, marker="o", mew=0), "τ_grok"),
        (Line2D([], [], color=MEMORISED, marker="s", mew=0), "t_mem (training)"),
        (Line2D([], [], color=GENERALISED, marker="o", mew=0), "t_gen (test)"),
    ]
    if np.isnan(t_gen).any() or np.isnan(t_mem).any():
        entries.append((Line2D([], [], color=MEMORISED, ls="", marker="^", mfc="none", mew=1.1, ms=5.5), NEVER))
    legend(figure, entries)
    return figure


def _series(ax: Axes, x: Values, y: Values, bound: Values, colour: str, marker: str, gap: float, log: bool) -> None:
    """Points where `y` is a number, triangles at `bound` where it is not, and the line through the medians.

    A run with neither is left out.
    """
    x, y, bound = (values[~np.isnan(bound)] for values in (x, y, bound))
    known = ~np.isnan(y)
    beside = x * np.exp(gap) if log else x + gap
    ax.plot(beside[known], y[known], marker, color=colour, ms=4, mew=0, alpha=0.75, zorder=2, gid="reached")
    ax.plot(beside[~known], bound[~known], "^", color=colour, mfc="none", mew=1.1, ms=5.5, zorder=2, gid="censored")
    places = np.unique(x)
    late = np.where(known, y, np.inf)
    medians = np.array([np.sort(late[x == place])[(np.sum(x == place) - 1) // 2] for place in places])
    ax.plot(places, np.where(np.isfinite(medians), medians, np.nan), color=colour, zorder=3, gid="median")


def _gap(x: Values, log: bool) -> float:
    """How far the two kinds of points stand beside their number, so that they do not hide one another."""
    places = np.unique(np.log(x) if log else x)
    return 0.06 * float(np.diff(places).min()) if len(places) > 1 else 0.0


def _log_axis(ax: Axes) -> None:
    """Ticks at 1, 2 and 5 of every decade."""
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(short_number))
    ax.yaxis.set_minor_formatter(NullFormatter())
