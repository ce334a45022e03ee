"""How long branches take from the branch on: the clock of the claims about interventions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ....experiments.clauses import median
from ....experiments.clocks import times
from ....experiments.regimes import in_regime
from ....figures.panels import wrapped
from ....figures.registry import figures
from ....figures.rows import NEVER, SEED, bar, bar_entry, draw_row, fit_steps, name_rows
from ....figures.style import PAGE_WIDTH, arm_colours
from ..common import AFTER_99, DIAL

if TYPE_CHECKING:
    from ....store.results import Results


@figures.register("causes-after", takes="results", title="From the branch on")
def after_the_branch(results: Results) -> Figure:
    """Epochs from the branch to 99 % test accuracy, a panel for each kind of distractors: a dot per seed, and the median."""
    branched = results.runs[results.runs[AFTER_99.end].notna()]
    parts = {part: own for part in DIAL if len(own := in_regime(branched, part))}
    names = list(dict.fromkeys(name for own in parts.values() for name in own["arm"]))
    across = min(2, len(parts))
    down = -(-len(parts) // across)
    figure = Figure(figsize=(PAGE_WIDTH if across > 1 else 0.75 * PAGE_WIDTH, 0.5 + down * (0.6 + 0.27 * len(names))))
    axes = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flatten()
    colours, shown = arm_colours(names), []
    for ax, (part, runs) in zip(axes, parts.items(), strict=False):
        ax.set_title(part, loc="left")
        name_rows(ax, [wrapped(name, 28) for name in names])
        for place, name in enumerate(names):
            own = times(runs, name, AFTER_99)
            draw_row(ax, place, own, colours[name])
            shown += own.time.tolist()
            if np.isfinite(middle := median(own)):
                bar(ax, place, middle, "median")
    for ax in axes[len(parts) :]:
        ax.remove()
    fit_steps(axes[0], shown)
    for ax in axes[max(0, len(parts) - across) : len(parts)]:
        ax.set_xlabel("epochs from the branch to 99 %")
    figure.legend(handles=[SEED, NEVER, bar_entry("median")], loc="outside lower center", ncols=3, handlelength=1.2)
    return figure
