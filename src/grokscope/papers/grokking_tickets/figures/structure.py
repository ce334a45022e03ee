"""How the subnetwork changes (grokking tickets, Figures 7 and 14) and what it looks like (Figures 20 and 21).

Drawn from the tables of the probes `jaccard` and `masks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ....figures.data import first_seed, probed
from ....figures.panels import legend, wrapped
from ....figures.registry import figures
from ....figures.style import NEUTRAL, OTHERS, PAGE_WIDTH, SMALL, TEST_COLOUR, Look, arm_looks
from ....scores import either_score
from ....store.blocks import flags_of, numbers_of
from ....tasks import score_name

if TYPE_CHECKING:
    from ....store.results import Results

ALL = "all"
"""The layer that stands for all weights together."""
FEWEST = 5
"""Runs of which a median is drawn."""
STRONG = 0.98
"""Share of the weights whose size gets a colour of its own; larger ones share the strongest."""
ORDER = ("W_E", "W_pos", "W_Q", "W_K", "W_V", "W_O", "W_in", "W_1", "W_out", "W_2", "W_U")
"""Matrices from input to output."""
KEPT = ListedColormap(["white", "#222222"])


@figures.register("gt-structure", takes="results", needs="jaccard", title="Change of the subnetwork")
def structure_change(results: Results) -> Figure:
    """Does the subnetwork change most while test accuracy (R² of a regression) rises most?
    Intervals between checkpoints are counted from the one in which it rises most in a run: that rise above, Jaccard distance of the
    masks at both ends below. Thin lines are runs, thick lines medians.

    One column per arm whose masks change. Intervals that the end of a run cut short are left out: less can change in them.
    """
    table = _aligned(probed(results, "jaccard"))
    counts = table.groupby("arm", sort=False)["run"].nunique()
    changing = table.groupby("arm", sort=False)["distance"].max() > 0
    arms = [str(arm) for arm in changing.index[changing]] or [str(arm) for arm in changing.index]
    every = list(dict.fromkeys(table["layer"]))
    single = [layer for layer in every if layer != ALL]
    layers = single if len(single) > 1 else []  # one matrix is all weights
    score = either_score(score_name(run) for run in results.runs.to_dict("records"))
    rows = {f"rise of test\n{score}": 1.0, "Jaccard distance,\nall weights": 1.4}
    rows |= {"Jaccard distance,\neach matrix": 1.4} if layers else {}
    figure = Figure(figsize=(PAGE_WIDTH if len(arms) > 1 else 0.62 * PAGE_WIDTH, 0.75 + sum(rows.values())))
    axes = figure.subplots(
        len(rows), len(arms), sharex="col", sharey="row", squeeze=False, height_ratios=list(rows.values())
    )
    whole = ALL if ALL in every else every[0]
    for arm, column in zip(arms, axes.T, strict=True):
        own = table[table["arm"] == arm]
        together = own[own["layer"] == whole]
        _runs(column[0], together, "accuracy_change", TEST_COLOUR, f"median rise of test {score}")
        _runs(column[1], together, "distance", OTHERS[0], "median distance")
        for layer, look in arm_looks(layers).items():
            middle = _medians(own[own["layer"] == layer], "distance")
            style = {"color": look.colour, "ls": look.dashes, "marker": look.marker, "ms": 3, "mew": 0, "lw": 1.3}
            column[2].plot(middle.index, middle, gid=layer, **style)
        for ax in column:
            ax.axvline(0, color=NEUTRAL, lw=0.8, ls="--", zorder=1, gid="largest")
        column[0].set_title(f"{arm}: {counts[arm]} runs" if counts[arm] > 1 else arm)
        column[-1].set_xlabel(f"intervals{_spacing(own)} after the largest rise")
        column[-1].xaxis.set_major_locator(MaxNLocator(8, integer=True))
    for ax, label in zip(axes[:, 0], rows, strict=True):
        ax.set_ylabel(label)
    for row in axes:
        row[0].set_ylim(bottom=min(0.0, row[0].dataLim.y0))
    for column in axes.T:  # an arm that rises most in its first interval would begin on the axis
        low, high = column[0].get_xlim()
        column[0].set_xlim(min(low, -0.5), max(high, 0.5))
    _legend(figure, arm_looks(layers), [str(arm) for arm in changing.index if str(arm) not in arms])
    return figure


def _aligned(jaccard: pd.DataFrame) -> pd.DataFrame:
    """Intervals with their place: counted, within their run, from the one in which test accuracy rises most. The last interval of
    a run is left out where it is shorter than others of its arm."""
    intervals = jaccard.drop_duplicates(["run", "epoch"]).sort_values(["run", "epoch"])
    by_run = intervals["run"]
    length = intervals["epoch"] - intervals["previous"]
    cut = (length < length.groupby(intervals["arm"]).transform("max")) & ~by_run.duplicated(keep="last")
    whole = intervals[~cut]
    number = whole.groupby("run").cumcount()
    largest = number[whole.groupby("run")["accuracy_change"].idxmax()]
    from_largest = number - by_run[whole.index].map(dict(zip(by_run[largest.index], largest, strict=True)))
    places = whole[["run", "epoch"]].assign(place=from_largest)
    return jaccard.merge(places, on=["run", "epoch"])


def _spacing(own: pd.DataFrame) -> str:
    """How long the intervals are, if all are equally long."""
    lengths = set(own["epoch"] - own["previous"])
    return f" of {int(lengths.pop()):,} epochs" if len(lengths) == 1 else ""


def _medians(own: pd.DataFrame, column: str) -> pd.Series:
    """By place, where at least a quarter of the runs, and five (or all, of fewer), have an interval."""
    by_place, runs = own.groupby("place")[column], own["run"].nunique()
    return by_place.median()[by_place.count() >= min(max(FEWEST, runs / 4), runs)]


def _runs(ax: Axes, own: pd.DataFrame, column: str, colour: str, name: str) -> None:
    """Every run as a thin line with a dot per interval, and their median."""
    middle = _medians(own, column)
    for _, run in own[own["place"].isin(middle.index)].groupby("run"):
        run = run.sort_values("place")
        ax.plot(run["place"], run[column], color=colour, lw=0.4, marker="o", ms=1.6, mew=0, alpha=0.3, gid="run")
    ax.plot(middle.index, middle, color=colour, marker="o", ms=4, mew=0, lw=1.8, gid=name)


def _legend(figure: Figure, looks: dict[str, Look], fixed: Sequence[str]) -> None:
    thin = Line2D([], [], color=NEUTRAL, lw=0.4, marker="o", ms=1.6, mew=0)
    entries = [(thin, "a run"), (Line2D([], [], color=NEUTRAL, lw=1.8, marker="o", ms=4, mew=0), "median")]
    entries += [
        (Line2D([], [], color=look.colour, ls=look.dashes, marker=look.marker, ms=3, mew=0, lw=1.3), layer)
        for layer, look in looks.items()
    ]
    legend(figure, entries, f"Not shown, since its mask is fixed from the start: {', '.join(fixed)}" if fixed else "")


@figures.register("gt-masks", takes="results", needs="masks", title="Weights and masks")
def weights_and_masks(results: Results, *, weights: bool = True) -> Figure:
    """The matrices of each arm: one column per layer, weights above (blue below 0, red above) and what the mask keeps (dark) below.

    Of the run with the lowest seed; of a large matrix the first rows and columns.

    weights   whether to show the weights, or the masks alone
    """
    masks = probed(results, "masks")
    arms = {str(arm): first_seed(own) for arm, own in masks.groupby("arm", sort=False)}
    layers = sorted(dict.fromkeys(masks["layer"]), key=_along)
    kinds = ["weights", "mask"] if weights else ["mask"]
    figure = Figure(figsize=(PAGE_WIDTH, 0.4 + 1.1 * len(arms) * len(kinds)))
    axes = figure.subplots(len(arms) * len(kinds), len(layers), squeeze=False)
    for ax in axes.flat:
        ax.grid(visible=False)
        ax.set_xticks([])
        ax.set_yticks([])
    for number, (arm, own) in enumerate(arms.items()):
        lines = axes[number * len(kinds) : (number + 1) * len(kinds)]
        for line, kind in zip(lines, kinds, strict=True):
            line[0].set_ylabel(f"{wrapped(arm, 22)}\n{kind}")
        for cells in own.to_dict("records"):
            place = layers.index(cells["layer"])
            if weights:
                numbers = numbers_of(cells)
                top = float(np.quantile(np.abs(numbers), STRONG)) or cells["scale"]
                _draw(lines[0, place], numbers, cmap="RdBu_r", vmin=-top, vmax=top)
            _draw(lines[-1, place], flags_of(cells["mask"], cells["rows"], cells["columns"]), cmap=KEPT, vmin=0, vmax=1)
            if number == 0:
                lines[0, place].set_title(_title(cells), fontweight="normal", size=SMALL)
    return figure


def _along(layer: str) -> int:
    """The place of a matrix on the way from input to output; of several layers, that of its first name."""
    return next((place for place, name in enumerate(ORDER) if layer.startswith(name)), len(ORDER))


def _draw(ax: Axes, matrix: NDArray[Any], **how: Any) -> None:
    ax.imshow(matrix, aspect="auto", interpolation="none", **how)


def _title(cells: dict[str, Any]) -> str:
    """The layer's name, how much of it is shown, and its size where that is more."""
    shown = f"{cells['rows']} × {cells['columns']}"
    return f"{cells['layer']}\n{shown}" + ("" if shown == cells["size"] else f"\nof {cells['size']}")
