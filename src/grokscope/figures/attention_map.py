"""Attention by position over time, head by head: does each head find its token, and when?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .data import first_seed, probed
from .panels import log_epochs, wrapped
from .registry import figures
from .style import PAGE_WIDTH, SMALL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

    from ..store.results import Results

MOST_ARMS = 4
"""Arms side by side."""
MOST_NAMES = 8
"""Positions that are called by their names."""
COLOURS = "Blues"


@figures.register("attention-map", takes="results", needs="attention-map", title="Attention by position and head")
def attention_map(results: Results) -> Figure:
    """One row per head, one column per arm: attention of the query on each position over epochs, mean over test examples.

    Of the run with the lowest seed, at its checkpoints. The table may have a column `name`: what a position is called.
    """
    table = probed(results, "attention-map")
    arms = list(dict.fromkeys(table["arm"]))[:MOST_ARMS]
    heads = sorted(table["head"].unique())
    width = min(PAGE_WIDTH, 1.1 + 2.4 * len(arms))
    figure = Figure(figsize=(width, 0.75 + 1.15 * len(heads)))
    axes = figure.subplots(len(heads), len(arms), sharex="col", squeeze=False)
    meshes = []
    for column, arm in enumerate(arms):
        own = first_seed(table[table["arm"] == arm])
        for row, head in enumerate(heads):
            ax = axes[row, column]
            meshes.append(_draw(ax, own[own["head"] == head]))
            ax.set_ylabel(f"head {head}: position" if len(heads) > 1 else "position", size=SMALL + 1)
            if row == 0:
                ax.set_title(wrapped(str(arm), 30))
        axes[-1, column].set_xlabel("epoch")
    figure.colorbar(meshes[0], ax=axes.ravel().tolist(), label="attention", shrink=0.9, pad=0.02)
    return figure


def _draw(ax: Axes, own: pd.DataFrame) -> QuadMesh:
    grid = own.pivot(index="position", columns="epoch", values="mass")
    epochs = grid.columns.to_numpy(dtype=np.float64)
    centres = np.maximum(epochs, 1.0)
    middles = np.sqrt(centres[1:] * centres[:-1])
    ratio = middles[0] / centres[0] if len(middles) else 1.5
    borders = np.concatenate(
        [[centres[0] / ratio], middles, [centres[-1] * (centres[-1] / middles[-1] if len(middles) else 1.5)]]
    )
    mesh = ax.pcolormesh(
        borders, np.arange(len(grid) + 1) - 0.5, grid.to_numpy(), cmap=COLOURS, vmin=0, vmax=1, rasterized=True
    )
    log_epochs(ax, borders[0], borders[-1])
    ax.set_ylim(len(grid) - 0.5, -0.5)
    if "name" in own and len(grid) <= MOST_NAMES:
        ax.set_yticks(range(len(grid)), own.drop_duplicates("position").sort_values("position")["name"])
    else:
        ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.grid(visible=False)
    return mesh
