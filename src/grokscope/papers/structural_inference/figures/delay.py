"""Grokking time against a number (structural inference, Figure 3): every run a dot, and the law that was fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from ....figures.panels import legend, short_number
from ....figures.style import COLUMN_WIDTH, NEUTRAL, PAGE_WIDTH, Look, arm_looks, styled


@styled
def delay_against(
    points: pd.DataFrame,
    *,
    name: str,
    what: str = "epoch of grokking",
    laws: Mapping[str, Mapping[str, Any]] | None = None,
    ticks: Sequence[str] | None = None,
) -> Figure:
    """A panel for each `panel`, a colour for each `series`: the time of every run against `x`, and the median at each x.

    points   one row per run: panel, series, x, t_grok (missing if it never grokked) and epoch, its last
    name     what x is, for the axis
    what     what stands in t_grok, for the axis
    laws     by panel, where known: floor and slope of t = floor + slope·x
    ticks    names of x = 0, 1, 2 …, where it is not a number; otherwise x has a log scale
    """
    panels = dict(iter(points.groupby("panel", sort=False)))
    looks = arm_looks(list(dict.fromkeys(points["series"])))
    width = PAGE_WIDTH if len(panels) > 2 else 5.2 if len(panels) == 2 or ticks else COLUMN_WIDTH * 1.2
    figure = Figure(figsize=(width, 3.0))
    axes = figure.subplots(1, max(len(panels), 1), sharey=True, sharex=True, squeeze=False)[0]
    for ax, (panel, own) in zip(axes, panels.items(), strict=False):
        ax.set_title(panel)
        for series, runs in own.groupby("series", sort=False):
            place = list(looks).index(series) - (len(looks) - 1) / 2
            _dots(ax, runs, looks[series], 0.0 if ticks is None else 0.16 * place)
        law = (laws or {}).get(panel, {})
        if "slope" in law:
            x = np.geomspace(own["x"].min(), own["x"].max(), 200)
            t = law["floor"] + law["slope"] * x
            shown = t <= 1.3 * points["epoch"].max()  # later than any run was followed there is nothing to see
            ax.plot(x[shown], t[shown], color="black", lw=1, ls="--", zorder=1.5, gid="law")
        ax.set_xlabel(name)
    _scales(axes[0], ticks)
    axes[0].set_ylabel(what)
    entries = [
        (Line2D([], [], color=look.colour, marker=look.marker, ms=4, mew=0, lw=1.4, ls=look.dashes), series)
        for series, look in looks.items()
    ]
    if laws and any("slope" in law for law in laws.values()):
        entries.append((Line2D([], [], color="black", lw=1, ls="--"), "best fit of floor + c·x"))
    if points["t_grok"].isna().any():
        entries.append(
            (Line2D([], [], color=NEUTRAL, ls="", marker="^", mfc="none", mew=1.1, ms=5), "never grokked (censored)")
        )
    if entries:
        legend(figure, entries)
    return figure


def _dots(ax: Axes, runs: pd.DataFrame, look: Look, beside: float) -> None:
    colour = look.colour
    never = runs["t_grok"].isna()
    grokked, cut = runs[~never], runs[never]
    ax.plot(
        grokked["x"] + beside, grokked["t_grok"], look.marker, color=colour, ms=3.5, mew=0, alpha=0.7, gid="grokked"
    )
    ax.plot(cut["x"] + beside, cut["epoch"], "^", color=colour, ms=5, mfc="none", mew=1.1, gid="censored")
    late = runs.assign(t=runs["t_grok"].fillna(np.inf)).groupby("x")["t"]
    middle = late.apply(lambda t: np.sort(t)[(len(t) - 1) // 2]).replace(np.inf, np.nan)
    ax.plot(middle.index + beside, middle, color=colour, lw=1.4, ls=look.dashes, zorder=2, gid="median")


def _scales(ax: Axes, ticks: Sequence[str] | None) -> None:
    if ticks is None:
        ax.set_xscale("log")
        _log_ticks(ax.xaxis, ax.get_xlim())
    else:
        ax.set_xticks(range(len(ticks)), ticks)
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_yscale("log")
    _log_ticks(ax.yaxis, ax.get_ylim())


def _log_ticks(axis: Axis, limits: tuple[float, float]) -> None:
    """Over two decades and more every decade has a number, below also 2 and 5."""
    subs = (1, 2, 5) if limits[1] / limits[0] < 100 else (1,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(short_number))
    axis.set_minor_formatter(NullFormatter())
