"""Accuracy at lengths never trained on (structural inference, Figure 8): over epochs, a panel for each length and arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ....figures.curves import HALF
from ....figures.panels import legend, linear_epochs, wrapped
from ....figures.registry import figures
from ....figures.style import NEUTRAL, PAGE_WIDTH, SMALL, arm_colours

if TYPE_CHECKING:
    from ....store.results import Results


@figures.register("si-lengths", takes="results", needs="lengths", title="Accuracy by length")
def accuracy_by_length(results: Results) -> Figure:
    """One row per arm, one column per length: test accuracy over epochs, first at the length of training, then at longer ones."""
    table = results.probes["lengths"]
    arms = list(dict.fromkeys(map(str, table["arm"])))
    lengths = sorted(table["length"].unique())
    shown = [lengths[0], *lengths[2::2]] if len(lengths) > 4 else lengths
    colours = arm_colours(arms)
    figure = Figure(figsize=(PAGE_WIDTH, 1.15 * len(arms) + 0.9))
    axes = figure.subplots(len(arms), len(shown), sharex=True, sharey=True, squeeze=False)
    for row, arm in zip(axes, arms, strict=True):
        own = table[table["arm"] == arm]
        row[0].set_ylabel(wrapped(arm, 22), size=SMALL)
        for ax, length in zip(row, shown, strict=True):
            each = own[own["length"] == length].groupby("epoch")["accuracy"]
            low, middle, high = (each.quantile(share) for share in (0.25, 0.5, 0.75))
            ax.fill_between(middle.index, low, high, color=colours[arm], alpha=0.2, lw=0, gid=f"{length}, {HALF}")
            ax.plot(middle.index, middle, color=colours[arm], lw=1.4, marker="o", ms=2.5, gid=f"length {length}")
            ax.set_ylim(-0.03, 1.03)
            ax.tick_params(labelsize=SMALL)
    for ax, length in zip(axes[0], shown, strict=True):
        ax.set_title(f"length {length}" + (" (trained)" if length == lengths[0] else ""))
    linear_epochs(axes[0, 0], float(table["epoch"].max()))
    for ax in axes[-1]:
        ax.set_xlabel("epoch")
    entries = [(Line2D([], [], color=NEUTRAL, lw=1.4, marker="o", ms=2.5), "test accuracy, median of the seeds")]
    legend(figure, [*entries, (Patch(facecolor=NEUTRAL, alpha=0.2, lw=0), HALF)])
    return figure
