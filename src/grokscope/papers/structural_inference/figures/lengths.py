"""Accuracy at lengths never trained on (structural inference, Figure 8): over epochs, one line per length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....figures.panels import legend, linear_epochs, wrapped
from ....figures.registry import figures
from ....figures.style import PAGE_WIDTH, sequential_colours

if TYPE_CHECKING:
    from ....store.results import Results


@figures.register("si-lengths", takes="results", needs="lengths", title="Accuracy by length")
def accuracy_by_length(results: Results) -> Figure:
    """One panel per arm: test accuracy over epochs at the length of training and at longer ones, median of the seeds and range."""
    table = results.probes["lengths"]
    arms = list(dict.fromkeys(table["arm"]))
    lengths = sorted(table["length"].unique())
    shown = [lengths[0], *lengths[2::2]] if len(lengths) > 4 else lengths
    colours = dict(zip(map(str, shown), sequential_colours(len(shown)), strict=True))
    columns = min(len(arms), 2)
    lines = -(-len(arms) // columns)
    figure = Figure(figsize=(PAGE_WIDTH * columns / 2, 1.9 * lines + 0.7))
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for ax, arm in zip(axes.flat, arms, strict=False):
        own = table[table["arm"] == arm]
        for length in shown:
            each = own[own["length"] == length].groupby("epoch")["accuracy"]
            low, middle, high = each.min(), each.median(), each.max()
            colour = colours[str(length)]
            ax.fill_between(middle.index, low, high, color=colour, alpha=0.15, lw=0)
            ax.plot(middle.index, middle, color=colour, lw=1.4, marker="o", ms=2.5, gid=f"length {length}")
        ax.set_title(wrapped(arm, 40))
        ax.set_ylim(-0.02, 1.02)
    for ax in axes.flat[len(arms) :]:
        ax.set_visible(False)
    linear_epochs(axes[0, 0], float(table["epoch"].max()))
    for ax in axes[-1]:
        ax.set_xlabel("epoch")
    for ax in axes[:, 0]:
        ax.set_ylabel("test accuracy")
    entries = [(Line2D([], [], color=colours[str(n)], lw=1.4), f"length {n}") for n in shown]
    legend(figure, [(entries[0][0], f"{entries[0][1]} (trained)"), *entries[1:]])
    return figure
