"""Panels, axes and lines that the pictures share."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from .data import RunCurves, together
from .style import COLUMN_WIDTH, PAGE_WIDTH, SMALL

Panels = NDArray[np.object_]


def panels(arms: Sequence[str], heights: Sequence[float]) -> tuple[Figure, Panels]:
    """A figure with a column of panels for each arm, and its axes as an array [row, arm].

    The rows have `heights` in inches. At most three arms stand side by side (narrower panels cannot be read in print);
    more go on below. All panels share epochs, and the panels of a row share their scale.
    """
    columns = 2 if len(arms) in (2, 4) else min(len(arms), 3)
    lines = math.ceil(len(arms) / columns)
    width = {1: COLUMN_WIDTH, 2: 5.2, 3: PAGE_WIDTH}[columns]
    figure = Figure(figsize=(width, lines * (sum(heights) + 0.45) + 0.55))
    grid = figure.add_gridspec(lines * len(heights), columns, height_ratios=list(heights) * lines)
    axes = np.empty((len(heights), len(arms)), dtype=object)
    for arm, name in enumerate(arms):
        line, column = divmod(arm, columns)
        for row in range(len(heights)):
            shares = {"sharex": axes[0, 0], "sharey": axes[row, 0]}
            ax = figure.add_subplot(grid[line * len(heights) + row, column], **shares)
            ax.tick_params(labelleft=column == 0, labelbottom=row == len(heights) - 1)
            axes[row, arm] = ax
        axes[0, arm].set_title(textwrap.fill(name, 30), pad=19)
        axes[-1, arm].set_xlabel("epoch")
    return figure, axes


def subtitle(ax: Axes, text: str) -> None:
    """A small line between the title of a panel (made by `panels`) and the panel."""
    ax.annotate(text, (0, 1), (0, 9), xycoords="axes fraction", textcoords="offset points", size=SMALL, va="bottom")


def label_rows(axes: Panels, columns: int, labels: Sequence[str]) -> None:
    """Name each row's scale once per line of panels."""
    for row, label in enumerate(labels):
        for arm in range(0, axes.shape[1], columns):
            axes[row, arm].set_ylabel(label)


def columns_of(axes: Panels) -> int:
    """How many arms `panels` put side by side."""
    return int(axes[0, 0].get_gridspec().ncols)


def log_epochs(ax: Axes, first: float, last: float) -> None:
    """A log axis of epochs; the shorter its range, the more of its ticks are labelled."""
    ax.set_xscale("log")
    ax.set_xlim(first, last)
    ratio = last / first
    labelled = (1,) if ratio >= 100 else (1, 2, 5) if ratio >= 8 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    ax.xaxis.set_major_locator(LogLocator(subs=labelled, numticks=12))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    ax.xaxis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=12))
    ax.xaxis.set_minor_formatter(NullFormatter())


def all_epochs(runs: Sequence[RunCurves]) -> tuple[float, float]:
    """The first epoch a log axis can show, and the last of all runs (further right where they are one and the same)."""
    epochs = [run.series("epoch")[0] for run in runs]
    first = min((float(e.min()) for e in epochs if e.size), default=1.0)
    return first, max(max((float(e.max()) for e in epochs if e.size), default=10.0), 2 * first)


def log_values(ax: Axes) -> None:
    """A log axis for a metric; values that are not above 0 are left out."""
    ax.set_yscale("log", nonpositive="mask")


def short_number(value: float) -> str:
    """1, 20, 500, 1k, 2.5k, 10k, 1M: epochs as short as a panel needs them."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def draw_seeds(ax: Axes, runs: Sequence[RunCurves], column: str, colour: str, label: str, **line: Any) -> None:
    """One metric of one arm: a thin line a seed under their median, with a band from the lowest seed to the highest.

    Median and band are over seeds at each epoch (see `together` for runs that stopped). A single run is just a line.
    """
    if len(runs) > 1:
        for run in runs:
            if column in run.metrics:
                ax.plot(*run.series(column), color=colour, lw=0.5, alpha=0.55, zorder=2, ls=line.get("ls", "-"))
        epochs, values = together(runs, column)
        if not epochs.size:
            return
        median = np.median(values, axis=0)
        ax.fill_between(epochs, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, lw=0, zorder=1.5)
    else:
        epochs, median = runs[0].series(column) if column in runs[0].metrics else (np.empty(0), np.empty(0))
    ax.plot(epochs, median, color=colour, label=label, zorder=3, **line)


def arm_handle(colours: Iterable[str]) -> tuple[Line2D, ...]:
    """A legend line in the colours of the arms, for what is drawn in the colour of its arm."""
    return tuple(Line2D([], [], color=colour) for colour in list(colours)[:4])


def legend(figure: Figure, entries: Sequence[tuple[Any, str]], columns: int) -> None:
    """One legend under all panels; entries are (handle, label), and a tuple of handles is drawn as one line."""
    handles, labels = zip(*entries, strict=True)
    handler = {tuple: HandlerTuple(ndivide=None, pad=0)}
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handler_map=handler)


def how_many(runs: Sequence[RunCurves]) -> str:
    """What became of an arm, in words."""
    grokked = sum(run.t_grok is not None for run in runs)
    if len(runs) == 1:
        return f"grokked at epoch {runs[0].t_grok:,}" if grokked else f"never by epoch {runs[0].last_epoch:,}"
    last = max(run.last_epoch for run in runs)
    return f"{grokked} of {len(runs)} grokked" + ("" if grokked else f" by epoch {last:,}")
