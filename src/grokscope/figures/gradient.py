"""The attention gradient under its bound (structural inference, Figure 5 and Figure 1 right; Lemma 5.1, Eq. 4).

Once the training set is memorised the task loss is nearly 0, and with it the force that could still move attention.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .curves import draw_seeds
from .data import RunCurves, by_arm, need, recorded
from .panels import arm_handle, legend, log_values, panels, subtitle
from .phases import mark_time, time_entries
from .registry import figures
from .style import arm_colours

TIGHT, CLOSED = "black", "#888888"
DASHES = (0, (5, 2))


@figures.register(
    "gradient",
    needs="grad_logit",
    order=40,
    title="The attention gradient under its bound",
    shows="Log-log line charts: largest task gradient on an attention logit, below two upper bounds of Lemma 5.1.",
    caption="Once the training set is memorised (dotted line) the task loss is nearly 0, and Lemma 5.1 says that the "
    "gradient which could still repair attention must fade with it: the coloured line has to stay under the black "
    "one. Below, the norm of the task gradient on the attention matrix M tells the same story.",
)
def gradient_under_bound(runs: Sequence[RunCurves]) -> Figure:
    """One column per arm: largest |∂CE/∂ℓ_j| under both forms of its bound; below, the task gradient on M if known."""
    need(runs, "grad_logit")
    arms = by_arm(runs)
    colours = arm_colours(list(arms))
    on_matrix = recorded(runs, "grad_M")
    rows = {"largest |∂CE/∂ℓⱼ| (nats)": 1.6} | ({"‖∂CE/∂M‖ (Frobenius)": 1.15} if on_matrix else {})
    figure, axes = panels(runs, rows)
    for arm, (name, members) in enumerate(arms.items()):
        above = axes[0, arm]
        draw_seeds(above, members, "bound_paper", CLOSED, "bound, closed form", lw=1.0, ls=DASHES)
        draw_seeds(above, members, "bound", TIGHT, "bound, tight form", lw=1.0)
        draw_seeds(above, members, "grad_logit", colours[name], "measured")
        subtitle(above, _closest(members))
        if on_matrix:
            draw_seeds(axes[1, arm], members, "grad_M", colours[name], "gradient on M")
        for ax in axes[:, arm]:
            mark_time(ax, members, "t_mem")
            mark_time(ax, members, "t_grok")
    for ax in axes[:, 0]:
        log_values(ax)
    entries = [
        (arm_handle(colours.values()), "measured"),
        (Line2D([], [], color=TIGHT, lw=1.0), "Lemma 5.1, tight form"),
        (Line2D([], [], color=CLOSED, lw=1.0, ls=DASHES), "Lemma 5.1, closed form"),
        *time_entries(runs, "t_mem", "memorisation"),
        *time_entries(runs, "t_grok", "grokking"),
    ]
    legend(figure, entries)
    return figure


def _closest(runs: Sequence[RunCurves]) -> str:
    """How near the measured gradient ever came to the tight bound, as the run recorded it."""
    ratios = [run.metrics["bound_ratio"].max() for run in runs if "bound_ratio" in run.metrics]
    finite = [ratio for ratio in ratios if np.isfinite(ratio)]
    return f"largest measured / tight bound: {max(finite):.2g}" if finite else ""
