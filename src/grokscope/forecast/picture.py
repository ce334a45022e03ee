"""One picture of all predictors: how well each ranks, and what the best says of every run that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ..figures.panels import log_epochs
from ..figures.style import NEUTRAL, PAGE_WIDTH, SMALL, arm_looks, styled
from .data import table_at
from .evaluate import Score, out_of_fold

if TYPE_CHECKING:
    from ..store.results import Results


@styled
def picture(pool: dict[str, Results], scores: Sequence[Score], horizon: float) -> Figure:
    """Left: AUROC of each predictor on unseen seeds and on unseen domains, on the runs that have the features of all. Right:
    forecast of the best against actual t_grok."""
    figure = Figure(figsize=(PAGE_WIDTH, 4.0), layout="constrained")
    bars, points = figure.subplots(1, 2)
    common = [own for own in scores if own.on == "common"]
    known = {own.predictor: own for own in common if own.protocol == "seeds" and np.isfinite(own.auroc)}
    other = {own.predictor: own for own in common if own.protocol == "transfer"}
    names = sorted(known, key=lambda name: known[name].auroc)
    place = np.arange(len(names))
    bars.barh(place, [known[name].auroc for name in names], height=0.6, color=NEUTRAL, alpha=0.6, label="unseen seeds")
    moved = [other[name].auroc if name in other else np.nan for name in names]
    bars.plot(moved, place, "D", markersize=4, color="black", label="unseen domain")
    bars.axvline(0.5, linewidth=0.8, color="black", linestyle=":")
    bars.set_yticks(place, names, fontsize=SMALL)
    bars.set(xlim=(0, 1), xlabel=f"AUROC of “groks by {horizon:,.0f}”")
    bars.legend(fontsize=SMALL, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    if names:
        best = names[-1]
        table = out_of_fold(best, table_at(pool, known[best].at))
        for domain, look in arm_looks(list(dict.fromkeys(table["domain"]))).items():
            own = table[table["domain"] == domain]
            reached = own[own["grokked"]]
            points.plot(reached["time"], reached["middle"], look.marker, markersize=3, color=look.colour, label=domain)
            late = own[~own["grokked"]]
            points.plot(late["time"], late["middle"], ">", markersize=3, color=look.colour, markerfacecolor="none")
        ends = [table["time"].min(), table["time"].max()]
        points.plot(ends, ends, linewidth=0.8, color="black")
        points.set(yscale="log", xlabel="t_grok (▷: not by then)", ylabel=f"forecast by {best}")
        log_epochs(points, ends[0] / 1.2, ends[1] * 1.2)
        points.legend(fontsize=SMALL, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return figure
