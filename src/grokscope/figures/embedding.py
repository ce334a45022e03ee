"""Embeddings in their Fourier planes: from a cloud to circles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from .data import first_seed, probed
from .registry import figures
from .style import NEUTRAL, PAGE_WIDTH, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..store.results import Results

CYCLE = "twilight"
"""A colour map that ends where it begins, as residues do."""


@figures.register("embedding", takes="results", needs="embedding", title="Embeddings in their Fourier planes")
def embedding_planes(results: Results) -> Figure:
    """One column per frequency k, one row per checkpoint: the operands' embeddings in the plane of that frequency.

    Of the first arm's run with the lowest seed; the frequencies with the largest share of the variance at the last checkpoint.
    Colours follow k·n mod p: on a circle that the network has found they go round once.
    """
    table = probed(results, "embedding")
    own = first_seed(table[table["arm"] == table["arm"].iloc[0]])
    frequencies = list(dict.fromkeys(own["frequency"]))
    epochs = sorted(own["epoch"].unique())
    shown = list(dict.fromkeys([epochs[0], epochs[len(epochs) // 2], epochs[-1]]))
    figure = Figure(figsize=(min(PAGE_WIDTH, 2.0 * len(frequencies) + 0.5), 1.95 * len(shown) + 0.2))
    axes = figure.subplots(len(shown), len(frequencies), squeeze=False)
    for column, frequency in enumerate(frequencies):
        plane = own[(own["frequency"] == frequency) & own["epoch"].isin(shown)]
        for row, epoch in enumerate(shown):
            ax = axes[row, column]
            draw_plane(ax, plane[plane["epoch"] == epoch], reach(plane))
            ax.set_ylabel(f"epoch {epoch:,}" if column == 0 else "")
    return figure


def reach(points: pd.DataFrame) -> float:
    """How far the axes of a plane must go."""
    return 1.1 * float(np.abs(points[["x", "y"]].to_numpy()).max()) or 1.0


def draw_plane(ax: Axes, points: pd.DataFrame, limit: float) -> None:
    """One plane from −limit to limit: a dot per token."""
    frequency, count = int(points["frequency"].iloc[0]), len(points)
    phase = (frequency * points["token"].to_numpy()) % count / count
    ax.scatter(points["x"], points["y"], c=phase, cmap=CYCLE, vmin=0, vmax=1, s=11, lw=0.3, edgecolors=NEUTRAL)
    ax.set_title(f"k = {frequency}: {points['share'].iloc[0]:.0%} of the variance", size=SMALL, weight="normal")
    ax.set_aspect("equal", adjustable="box")
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit))
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
