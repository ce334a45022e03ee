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
from numpy.typing import NDArray

from ....figures.data import RunCurves, first_seed, probed
from ....figures.panels import all_epochs, legend, linear_epochs, panels, subtitle, wrapped
from ....figures.registry import figures
from ....figures.style import NEUTRAL, PAGE_WIDTH, SMALL, arm_looks
from ....store.blocks import flags_of, numbers_of

if TYPE_CHECKING:
    from ....store.results import Results

ALL = "all"
"""The layer that stands for all weights together."""
STRONG = 0.98
"""Share of the weights whose size gets a colour of its own; larger ones share the strongest."""
KEPT = ListedColormap(["white", "#222222"])


@figures.register("gt-structure", takes="results", needs="jaccard", title="Change of the subnetwork")
def structure_change(results: Results) -> Figure:
    """One column per arm: change of test accuracy between checkpoints above; below, Jaccard distance of their masks by layer.

    Of the run with the lowest seed: a median over seeds that change at different epochs would show neither. The vertical line
    stands at the largest change of test accuracy.
    """
    jaccard = probed(results, "jaccard")
    runs = [_curves(str(arm), first_seed(own)) for arm, own in jaccard.groupby("arm", sort=False)]
    layers = list(dict.fromkeys(jaccard["layer"]))
    styles = _styles(layers)
    figure, axes = panels(runs, {"change of\ntest accuracy": 0.9, "Jaccard distance": 1.5})
    for arm, run in enumerate(runs):
        above, below = axes[:, arm]
        epochs, change = run.series("accuracy_change")
        above.plot(epochs, change, color=NEUTRAL, marker="o", ms=2.5, mew=0, gid="change")
        for layer in layers:
            below.plot(*run.series(layer), **styles[layer], gid=layer)
        for ax in (above, below):
            ax.axvline(epochs[np.nanargmax(np.abs(change))], color="black", lw=0.8, ls="--", zorder=1, gid="largest")
        count = jaccard.loc[jaccard["arm"] == run.arm, "seed"].nunique()
        subtitle(above, f"seed {run.seed}" + (f" of {count} seeds" if count > 1 else ""))
    first, last = all_epochs(runs)
    linear_epochs(axes[0, 0], last, first)
    axes[1, 0].set_ylim(bottom=0)
    entries = [(Line2D([], [], **styles[layer]), layer) for layer in layers]
    legend(figure, [*entries, (Line2D([], [], color="black", lw=0.8, ls="--"), "largest change of test accuracy")])
    return figure


def _styles(layers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How the line of each layer is drawn, and black for all together; with a dot at every checkpoint."""
    looks = arm_looks([ALL, *layers])  # the first without a meaning is black
    common = {"marker": "o", "ms": 2.5, "mew": 0}
    return {
        layer: {"color": look.colour, "ls": look.dashes, "lw": 2.0 if layer == ALL else 1.2, **common}
        for layer, look in looks.items()
    }


def _curves(arm: str, rows: pd.DataFrame) -> RunCurves:
    """One run's distances with one column per layer."""
    wide = rows.pivot(index="epoch", columns="layer", values="distance")
    change = rows.drop_duplicates("epoch").set_index("epoch")["accuracy_change"]
    return RunCurves(arm=arm, seed=int(rows["seed"].iloc[0]), metrics=wide.assign(accuracy_change=change).reset_index())


@figures.register("gt-masks", takes="results", needs="masks", title="Weights and masks")
def weights_and_masks(results: Results, *, weights: bool = True) -> Figure:
    """The matrices of each arm: one column per layer, weights above (blue below 0, red above) and what the mask keeps (dark) below.

    Of the run with the lowest seed; of a large matrix the first rows and columns.

    weights   whether to show the weights, or the masks alone
    """
    masks = probed(results, "masks")
    arms = {str(arm): first_seed(own) for arm, own in masks.groupby("arm", sort=False)}
    layers = list(dict.fromkeys(masks["layer"]))
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


def _draw(ax: Axes, matrix: NDArray[Any], **how: Any) -> None:
    ax.imshow(matrix, aspect="auto", interpolation="none", **how)


def _title(cells: dict[str, Any]) -> str:
    """The layer's name, how much of it is shown, and its size where that is more."""
    shown = f"{cells['rows']} × {cells['columns']}"
    return f"{cells['layer']}\n{shown}" + ("" if shown == cells["size"] else f"\nof {cells['size']}")
