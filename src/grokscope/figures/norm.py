"""Norms over epochs: the MLP's (structural inference, Def. 4.2), and L1 and L2 of all weights (grokking tickets, Figure 6)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from .data import RunCurves, by_arm, need
from .panels import all_epochs, legend, legend_beside, log_epochs, overlay, overlay_entries
from .registry import figures
from .style import PAGE_WIDTH, arm_colours


@figures.register(
    "mlp-norm",
    needs="mlp_norm",
    order=50,
    title="Norm of the MLP",
    shows="Line chart over epochs: Frobenius norm of the MLP weights for each arm.",
    caption="Memorising needs large weights and weight decay wears them down. Dots mark grokking: see whether runs grok at "
    "a similar norm, and whether an arm that never groks is kept from it by its norm or by its attention.",
)
def mlp_norm(runs: Sequence[RunCurves]) -> Figure:
    """The norm of the MLP: does it shrink before a run groks? All arms in one panel."""
    need(runs, "mlp_norm")
    colours = arm_colours(list(by_arm(runs)))
    figure = Figure(figsize=(0.75 * PAGE_WIDTH, 2.4))
    ax = figure.add_subplot()
    log_epochs(ax, *all_epochs(runs))
    overlay(ax, runs, "mlp_norm", colours)
    ax.set_xlabel("epoch")
    ax.set_ylabel("MLP norm ‖θ‖ (Frobenius)")
    ax.set_ylim(bottom=0)
    legend_beside(figure, overlay_entries(runs, colours))
    return figure


@figures.register("norms", needs=("l1", "l2"), standard=False, title="Norms of all weights")
def norms_over_time(runs: Sequence[RunCurves], *, ordered: bool = False) -> Figure:
    """L2 and L1 norm of all weights side by side: do runs that generalise end at the same norm? All arms in each panel.

    ordered   colour the arms in their order, as for a setting that grows
    """
    need(runs, "l2")
    colours = arm_colours(list(by_arm(runs)), ordered=ordered)
    figure = Figure(figsize=(PAGE_WIDTH, 2.5))
    for place, (column, label) in enumerate({"l2": "L2 norm ‖θ‖₂", "l1": "L1 norm ‖θ‖₁"}.items()):
        ax = figure.add_subplot(1, 2, place + 1)
        log_epochs(ax, *all_epochs(runs))
        overlay(ax, runs, column, colours)
        ax.set_xlabel("epoch")
        ax.set_ylabel(label)
        ax.set_ylim(bottom=0)
    legend(figure, overlay_entries(runs, colours))
    return figure
