"""The norm of the MLP over epochs (structural inference, Def. 4.2): does it shrink before a run groks?"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from .data import RunCurves, by_arm, need
from .layout import all_epochs, draw_seeds, log_epochs
from .style import PAGE_WIDTH, arm_colours, styled


@styled
def mlp_norm(runs: Sequence[RunCurves]) -> Figure:
    """All arms in one panel; a dot on a run's line where it grokked."""
    need(runs, "mlp_norm")
    arms = by_arm(runs)
    figure = Figure(figsize=(0.75 * PAGE_WIDTH, 2.4))
    ax = figure.add_subplot()
    log_epochs(ax, *all_epochs(runs))
    for (name, members), colour in zip(arms.items(), arm_colours(list(arms)).values(), strict=True):
        draw_seeds(ax, members, "mlp_norm", colour, textwrap.fill(name, 20))
        for run in members:
            if run.t_grok:
                height = np.interp(run.t_grok, *run.series("mlp_norm"))
                ax.plot(run.t_grok, height, "o", color=colour, mec="white", mew=0.6, zorder=4)
    ax.set_xlabel("epoch")
    ax.set_ylabel("MLP norm ‖θ‖ (Frobenius)")
    ax.set_ylim(bottom=0)
    if any(run.t_grok for run in runs):
        ax.plot([], [], "o", color="#666666", mec="white", mew=0.6, label="grokking")
    figure.legend(loc="outside right upper")
    return figure
