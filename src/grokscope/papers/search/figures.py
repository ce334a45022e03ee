"""The search and its rivals: run-steps to 99 % test accuracy, and shares of seeds in which the support is found."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ...analysis.shares import share_interval
from ...experiments.clauses import median
from ...experiments.clocks import Clock, as_floats, times
from ...figures.registry import figures
from ...figures.rows import NEVER, SEED, bar, bar_entry, draw_row, fit_steps, rows
from ...figures.style import SMALL, arm_colours

if TYPE_CHECKING:
    from ...store.results import Results

PLAIN = {"plain training": "t_first_99"}
SEARCH_AND_PLAIN = {"search": "search_steps"} | PLAIN
"""Columns by method; the runs of the experiments are plain training with one step per epoch."""
FOUND_BY_SEARCH = {"search": "search_found"}


@figures.register("search-steps", takes="results", title="Run-steps to 99 %")
def steps_to_99(results: Results, *, methods: Mapping[str, str] = SEARCH_AND_PLAIN) -> Figure:
    """Run-steps to 99 % test accuracy: a dot per seed; a bar where half of the searches had decided, if they are drawn.

    Those of all candidates count, or of all choices of a rival. What never gets there stands at the last epoch of plain training.

    methods   columns by method
    """
    arms = list(dict.fromkeys(results.runs["arm"]))
    figure, ax = rows([f"{arm}, {method}" for arm in arms for method in methods], "run-steps to 99 % test accuracy")
    colours, shown = arm_colours(list(methods)), []
    for group, arm in enumerate(arms):
        for offset, (method, column) in enumerate(methods.items()):
            own = times(results.runs, arm, Clock(column, end="epochs"))
            draw_row(ax, group * len(methods) + offset, own, colours[method])
            shown += own.time.tolist()
        if "search" in methods:
            decided = median(times(results.runs, arm, Clock("search_decided")))
            bar(ax, group * len(methods) + list(methods).index("search"), decided, "decided")
            shown.append(decided)
    fit_steps(ax, shown)
    entries = [SEED, NEVER] + ([bar_entry("half of the searches have decided")] if "search" in methods else [])
    figure.legend(handles=entries, loc="outside lower center", ncols=3, handlelength=1.2)
    return figure


@figures.register("search-found", takes="results", title="Seeds in which the support is found")
def shares_found(results: Results, *, methods: Mapping[str, str] = FOUND_BY_SEARCH) -> Figure:
    """Share of seeds in which a method names exactly the informative tokens, with its exact 95 % interval.

    methods   columns by method
    """
    arms = list(dict.fromkeys(results.runs["arm"]))
    figure, ax = rows(
        [f"{arm}, {method}" for arm in arms for method in methods], "seeds in which the support is found (%)"
    )
    colours = arm_colours(list(methods))
    for place, (arm, method) in enumerate(itertools.product(arms, methods)):
        flags = as_floats(results.runs.loc[results.runs["arm"] == arm, methods[method]]).dropna()
        true, count = int((flags > 0).sum()), len(flags)
        low, high = share_interval(true, count)
        ax.hlines(place, 100 * low, 100 * high, color=colours[method], lw=1.6, gid="interval")
        ax.plot(100 * true / count if count else 0, place, "o", color=colours[method], ms=5, gid="share")
        ax.text(1.02, place, f"{true} of {count}", transform=ax.get_yaxis_transform(), size=SMALL, va="center")
    ax.set_xlim(-2, 102)
    return figure
