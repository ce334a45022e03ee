"""Norms over epochs: the MLP's (structural inference, Def. 4.2), and L1 and L2 of all weights (grokking tickets, Figure 6)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from .curves import overlay_panels
from .data import RunCurves, need
from .registry import figures


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
    """The norm of the MLP: does it shrink before a run groks?"""
    need(runs, "mlp_norm")
    return overlay_panels(runs, {"mlp_norm": "MLP norm ‖θ‖ (Frobenius)"}, from_zero=True)[0]


@figures.register("norms", needs=("l1", "l2"), standard=False, title="Norms of all weights")
def norms_over_time(runs: Sequence[RunCurves], *, apart: bool = False) -> Figure:
    """L2 and L1 norm of all weights: do runs that generalise end at the same norm?

    apart   a panel for each arm, for bands that would lie on each other
    """
    need(runs, "l2")
    rows, heights = {"l2": "L2 norm ‖θ‖₂", "l1": "L1 norm ‖θ‖₁"}, (1.1, 1.1) if apart else (1.6, 1.6)
    return overlay_panels(runs, rows, heights=heights, from_zero=True, apart=apart)[0]
