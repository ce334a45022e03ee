"""Panels, axes and lines that the figures share."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from ..analysis import unfinished, unreached
from .data import RunCurves, by_arm, middle
from .style import COLUMN_WIDTH, PAGE_WIDTH, SMALL

Panels = NDArray[np.object_]
LETTER = 0.052
"""Approximate width of a letter in a legend, in inches."""
MOST_LINES = 40
"""Seeds of an arm that are drawn as lines of their own; of more only the median and the band are drawn."""
MANY_PANELS = 3
"""Arms from which on a figure with a panel for each has no ticks between its labels."""
TITLE_PAD = 19
"""Points between a panel and its title, with room for a line between them."""
HANDLE = 0.45
"""Width of a legend entry without its letters, in inches."""


def panels(
    runs: Sequence[RunCurves], rows: Mapping[str, float], titles: Sequence[str] | None = None
) -> tuple[Figure, Panels]:
    """A figure with a column of panels for each arm (or title), and its axes as an array [row, arm].

    `rows` gives what each row shows and its height in inches. At most three arms stand side by side (narrower panels
    cannot be read in print); more continue below. All panels share log epochs, and the panels of a row share their scale.
    """
    arms = list(by_arm(runs)) if titles is None else list(titles)
    columns = 2 if len(arms) in (2, 4) else min(len(arms), 3)
    lines = math.ceil(len(arms) / columns)
    width = {1: COLUMN_WIDTH, 2: 5.2, 3: PAGE_WIDTH}[columns]
    figure = Figure(figsize=(width, lines * (sum(rows.values()) + 0.45) + 0.55))
    grid = figure.add_gridspec(lines * len(rows), columns, height_ratios=list(rows.values()) * lines)
    axes = np.empty((len(rows), len(arms)), dtype=object)
    for arm, name in enumerate(arms):
        line, column = divmod(arm, columns)
        for row, label in enumerate(rows):
            place = grid[line * len(rows) + row, column]
            ax = axes[row, arm] = figure.add_subplot(place, sharex=axes[0, 0], sharey=axes[row, 0])
            ax.tick_params(labelleft=column == 0, labelbottom=row == len(rows) - 1)
            ax.tick_params(
                axis="x", which="minor", labelbottom=False
            )  # empty labels would still be measured by the layout
            ax.tick_params(axis="y", which="minor", labelleft=column == 0)
            ax.set_ylabel(label if column == 0 else "")
        axes[0, arm].set_title(wrapped(name, 30), pad=TITLE_PAD)
        axes[-1, arm].set_xlabel("epoch")
    log_epochs(axes[0, 0], *all_epochs(runs))
    if len(arms) > MANY_PANELS:  # ticks between the labels take most of the time of a figure with many panels
        axes[0, 0].xaxis.set_minor_locator(NullLocator())
    return figure, axes


def subtitle(ax: Axes, text: str) -> None:
    """A small line between the title of a panel (made by `panels`) and the panel; two where one is wider than the panel, since
    every panel would be made narrower for it.
    """
    figure, place = ax.get_figure(root=True), ax.get_subplotspec()
    width = figure.get_figwidth() / place.get_gridspec().ncols if figure and place else PAGE_WIDTH
    lines = "\n".join(wrapped(line, int((width - 0.25) / LETTER)) for line in text.splitlines())
    if more := lines.count("\n") - text.count("\n"):
        ax.set_title(ax.get_title(loc="left"), pad=TITLE_PAD + 1.5 * SMALL * more)
    ax.annotate(lines, (0, 1), (0, 9), xycoords="axes fraction", textcoords="offset points", size=SMALL, va="bottom")


def log_epochs(ax: Axes, first: float, last: float) -> None:
    """A log axis of epochs; the shorter its range, the more of its ticks are labelled."""
    ax.set_xscale("log")
    ax.set_xlim(first, last)
    ratio = last / first
    labelled = (1,) if ratio >= 100 else (1, 2, 5) if ratio >= 8 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    ax.xaxis.set_major_locator(LogLocator(subs=labelled, numticks=12))
    ax.xaxis.set_major_formatter(FuncFormatter(short_number))
    ax.xaxis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=12))
    ax.xaxis.set_minor_formatter(NullFormatter())


def linear_epochs(ax: Axes, last: float, first: float = 0.0) -> None:
    """A linear axis of epochs, from 0 unless `first` is given, and then with a margin."""
    margin = 0.04 * (last - first) if first else 0.0
    ax.set_xscale("linear")
    ax.set_xlim(first - margin, last + margin)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(FuncFormatter(short_number))


def all_epochs(runs: Sequence[RunCurves]) -> tuple[float, float]:
    """The first epoch a log axis can show, and the last of all runs; room on both sides where they are nearly the same."""
    epochs = [run.series("epoch")[0] for run in runs]
    first = min((float(e.min()) for e in epochs if e.size), default=1.0)
    last = max((float(e.max()) for e in epochs if e.size), default=10.0)
    return (first, last) if last >= 1.5 * first else (first / 2, 2 * last)


def log_values(ax: Axes, most: float = math.inf) -> None:
    """A log axis for a metric already drawn; values that are not above 0 are omitted, and bands that reach down to them leave the
    panel.

    most   where the axis ends at the latest

    Over two decades and more the ticks between decades go: they are most of the time it takes to draw a figure. Over one to two
    decades 1, 2 and 5 are labelled: more labels would overlap. Below that more are, as plain numbers.
    """
    ax.set_yscale("log", nonpositive="mask")
    low, high = ax.get_ylim()
    high = min(high, most) if most > low else high
    for own in ax.get_shared_y_axes().get_siblings(ax):
        for band in own.findobj(PolyCollection):
            for path in band.get_paths():  # without a value above 0 a corner would be missing
                path.vertices = np.column_stack([path.vertices[:, 0], np.maximum(path.vertices[:, 1], low / 1e3)])
    ax.set_ylim(low, high)
    if high >= 100 * low:
        ax.yaxis.set_minor_locator(NullLocator())
    else:
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high >= 10 * low else (1, 1.5, 2, 3, 4, 5, 6, 8)))
        ax.yaxis.set_major_formatter(FuncFormatter(plain_number))
        ax.yaxis.set_minor_formatter(NullFormatter())


def plain_number(value: float, tick: int | None = None) -> str:
    """0.2, 1, 50; the signature is that of a tick formatter."""
    return f"{value:g}"


def short_number(value: float, tick: int | None = None) -> str:
    """1, 20, 500, 1k, 2.5k, 10k, 1M: short labels for epochs; the signature is that of a tick formatter."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def arm_handle(colours: Iterable[str]) -> tuple[Line2D, ...]:
    """A legend line in the colours of the arms, for what is drawn in the colour of its arm."""
    return tuple(Line2D([], [], color=colour) for colour in list(colours)[:4])


def wrapped(text: str, width: int) -> str:
    """The text wrapped to as few lines as fit the width, of about equal length."""
    lines = textwrap.wrap(text, width, break_long_words=False)
    while width > 1 and len(narrower := textwrap.wrap(text, width - 1, break_long_words=False)) == len(lines):
        lines, width = narrower, width - 1
    return "\n".join(lines)


def legend(figure: Figure, entries: Sequence[tuple[Any, str]], note: str = "") -> None:
    """One legend under all panels, in as few and even lines as fit; a tuple of handles is drawn as one line.

    The figure grows with a legend of more than two lines.

    note   a line above the entries, about what is not drawn
    """
    handles, labels = zip(*entries, strict=True)
    labels = tuple(wrapped(label, 48) for label in labels)
    every = (_columns(labels, lines) for lines in range(1, len(labels) + 1))
    columns = next(columns for columns in every if _fits(columns, figure.get_figwidth()))
    height = max(map(_legend_height, columns)) + (1.6 * SMALL / 72 if note else 0)
    figure.set_figheight(figure.get_figheight() + max(0.0, height - _legend_height(["", ""])))
    handler = {tuple: HandlerTuple(ndivide=None, pad=0)}
    how: dict[str, Any] = {"title": note, "title_fontsize": SMALL} if note else {}
    figure.legend(handles, labels, loc="outside lower center", ncols=len(columns), handler_map=handler, **how)


def legend_beside(figure: Figure, entries: Sequence[tuple[Any, str]]) -> None:
    """A legend to the right of the panels, long names wrapped. The figure grows a little for it; a much longer one goes below."""
    handles, labels = zip(*entries, strict=True)
    labels = tuple(wrapped(label, 22) for label in labels)
    height = _legend_height(labels) + 0.1
    if height > 1.3 * figure.get_figheight():
        legend(figure, entries)
        return
    figure.set_figheight(max(figure.get_figheight(), height))
    figure.legend(handles, labels, loc="outside right upper")


def _columns(labels: Sequence[str], lines: int) -> list[list[str]]:
    """The columns of a legend with this many lines, as matplotlib divides them: none is longer than another by more than one."""
    short, longer = divmod(len(labels), count := math.ceil(len(labels) / lines))
    ends = [short * n + min(n, longer) for n in range(count + 1)]
    return [list(labels[first:last]) for first, last in pairwise(ends)]


def _fits(columns: Sequence[Sequence[str]], width: float) -> bool:
    """Whether a legend with these columns fits the width of the figure; a single column always does."""
    widest = [max(len(line) for label in column for line in label.splitlines()) for column in columns]
    return len(columns) == 1 or sum(LETTER * letters + HANDLE for letters in widest) <= width


def _legend_height(labels: Sequence[str]) -> float:
    """Height of these labels below each other, in inches."""
    lines = sum(1 + label.count("\n") for label in labels)
    return (1.25 * lines + 0.35 * len(labels) + 1.0) * SMALL / 72


def outcome(runs: Sequence[RunCurves]) -> str:
    """The outcome of the runs of one arm, as text."""
    waiting = [run for run in runs if run.t_grok is None]
    last = max(run.last_epoch for run in runs)
    at = middle(runs).t_grok
    if len(runs) == 1:
        return unreached(runs[0].status, last, "grokked") if at is None else f"grokked at epoch {at:,}"
    words = f"{len(runs) - len(waiting)} of {len(runs)} grokked"
    words += f" by epoch {last:,}" if at is None else f", middle seed at {at:,}"
    return words + unfinished(run.status for run in waiting)


def outcomes(runs: Sequence[RunCurves]) -> dict[str, str]:
    """The outcome of each arm, as text."""
    return {arm: outcome(members) for arm, members in by_arm(runs).items()}
