"""Table 1 as a picture: test accuracy from a memorised solution, one row per start and one panel per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from ....analysis.location import mean_interval
from ....errors import ConfigError
from ....figures.panels import legend, wrapped
from ....figures.registry import figures
from ....figures.style import NEUTRAL, PAGE_WIDTH, SMALL, sequential_colours
from ..columns import EPOCHS, accuracy_at

if TYPE_CHECKING:
    from ....figures.data import Values
    from ....store.results import Results

ROW = 0.27
"""Inches of a row."""
SHOWN = (EPOCHS[0], EPOCHS[-1])
"""Epochs at which accuracies are drawn: the first and the last of the table."""
Reported = Mapping[str, Sequence[tuple[float, float]]]
"""By method: mean and spread at each of EPOCHS."""


@figures.register("gt-table1", takes="results", title="Test accuracy from the memorised solution")
def accuracy_from_start(
    results: Results, *, methods: Sequence[str], reported: Reported | None = None, literal: str = ""
) -> Figure:
    """Test accuracy of each method from each start after 600 and 2,000 epochs, mean of the seeds and its 95 % interval.
    Small dots are seeds, a grey line is the mean before the first step.

    Arms are named `method, split, start`; rows are grouped by split.

    methods    one panel each
    reported   the paper's means, drawn as black diamonds
    literal    the row that is set up as the paper's
    """
    arms = set(results.runs["arm"])
    rows = list(
        dict.fromkeys(a.removeprefix(f"{methods[0]}, ") for a in results.runs["arm"] if a.startswith(f"{methods[0]}, "))
    )
    if not rows:
        raise ConfigError("methods", f"no arm is called {methods[0]}, …")
    places = _places([row.partition(", ")[0] for row in rows])
    figure = Figure(figsize=(PAGE_WIDTH, 1.1 + ROW * (places[-1] + 1)))
    axes = figure.subplots(1, len(methods), sharex=True, sharey=True, squeeze=False)[0]
    found = {epoch: accuracy_at(results, epoch) for epoch in (0, *SHOWN)}
    colours = sequential_colours(len(SHOWN))
    titles = [wrapped(method, 18) for method in methods]
    tallest = max(title.count("\n") for title in titles)
    for ax, method, title in zip(axes, methods, titles, strict=True):
        ax.set_title("\n" * (tallest - title.count("\n")) + title, size=8)
        for place, row in zip(places, rows, strict=True):
            arm = f"{method}, {row}"
            if arm not in arms:
                continue
            runs = results.runs.loc[results.runs["arm"] == arm, "run"]
            before, *after = (found[epoch].reindex(runs).dropna().to_numpy(dtype=np.float64) for epoch in found)
            if len(before):
                ax.vlines(before.mean(), place - 0.4, place + 0.4, color=NEUTRAL, lw=1.0, zorder=1.5, gid="start")
            for height, colour, epoch, values in zip((place - 0.2, place + 0.2), colours, SHOWN, after, strict=True):
                _dots(ax, height, colour, values, f"epoch {epoch}")
            if reported and row == literal and method in reported:
                paper = [reported[method][EPOCHS.index(epoch)][0] for epoch in SHOWN]
                ax.plot(paper, [place - 0.2, place + 0.2], "D", color="black", mfc="none", ms=4.5, mew=0.9, gid="paper")
        ax.grid(axis="y", visible=False)
        ax.set_xlabel("test accuracy", size=SMALL)
    axes[0].set_yticks(places, [row.partition(", ")[2] for row in rows], size=SMALL)
    axes[0].tick_params(axis="y", length=0)
    axes[0].set_ylim(places[-1] + 0.6, -1.1)
    axes[0].set_xlim(-0.03, 1.05)
    axes[0].xaxis.set_major_locator(MultipleLocator(0.5))
    for place, row in zip(places, rows, strict=True):
        split = row.partition(", ")[0]
        if row == next(r for r in rows if r.startswith(f"{split}, ")):
            where = axes[0].get_yaxis_transform()
            axes[0].text(
                -0.04, place - 0.85, split, transform=where, size=SMALL, weight="bold", ha="right", va="center"
            )
    legend(figure, _entries(colours, bool(reported)))
    return figure


def _places(groups: Sequence[str]) -> list[float]:
    """Heights of rows, with a gap before each group."""
    places, gap = [], 0.0
    for number, group in enumerate(groups):
        gap += 1.0 * (number > 0 and group != groups[number - 1])
        places.append(number + gap)
    return places


def _dots(ax: Axes, height: float, colour: str, values: Values, name: str) -> None:
    """A small dot per seed, and their mean with its 95 % interval."""
    if not len(values):
        return
    ax.plot(values, np.full(len(values), height), "o", color=colour, ms=1.8, mew=0, alpha=0.4, gid=f"{name}, a seed")
    mean, low, high = mean_interval(values) if len(values) > 1 else (values[0],) * 3
    ax.plot([low, high], [height, height], color=colour, lw=1.6, zorder=3, gid=f"{name}, interval")
    ax.plot(mean, height, "o", color=colour, ms=4, mew=0, zorder=3, gid=f"{name}, mean")


def _entries(colours: Sequence[str], reported: bool) -> list[tuple[Line2D, str]]:
    entries = [(Line2D([], [], color=NEUTRAL, ls="", marker="|", ms=8), "before the first step")]
    entries += [
        (Line2D([], [], color=colour, marker="o", ms=4, mew=0, lw=1.6), f"epoch {epoch:,}")
        for epoch, colour in zip(SHOWN, colours, strict=True)
    ]
    entries += [(Line2D([], [], color=NEUTRAL, ls="", marker="o", ms=1.8, mew=0), "a seed")]
    if reported:
        entries += [(Line2D([], [], color="black", ls="", marker="D", mfc="none", ms=4.5), "reported by the paper")]
    return entries
