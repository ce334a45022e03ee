"""What is known at memorisation: D at t_mem against the time of grokking, one dot per seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ....figures.panels import legend, short_number
from ....figures.registry import figures
from ....figures.style import NEUTRAL, PAGE_WIDTH, arm_colours

if TYPE_CHECKING:
    from ....store.results import Results


@figures.register("si-prediction", takes="results", title="D at memorisation and the time of grokking")
def divergence_and_time(results: Results) -> Figure:
    """One panel per alphabet, one dot per seed: the time of grokking against D at memorisation; triangles never grokked."""
    runs = results.runs[results.runs["D_mem"].notna()]
    arms = list(dict.fromkeys(runs["arm"]))
    colours = arm_colours(arms)
    figure = Figure(figsize=(PAGE_WIDTH, 2.6))
    axes = figure.subplots(1, max(len(arms), 1), sharey=True, squeeze=False)[0]
    for ax, arm in zip(axes, arms, strict=False):
        own = runs[runs["arm"] == arm]
        grokked = own[own["t_grok"].notna()]
        never = own[own["t_grok"].isna()]
        ax.plot(
            grokked["D_mem"], grokked["t_grok"].astype(float), "o", color=colours[arm], ms=3.5, mew=0, gid="grokked"
        )
        ax.plot(never["D_mem"], never["epoch"].astype(float), "^", color=colours[arm], ms=5, mfc="none", gid="censored")
        ax.set_title(arm)
        ax.set_xlabel("D at t_mem (nats)")
    if not arms:
        axes[0].text(0.5, 0.5, "no run has memorised", transform=axes[0].transAxes, ha="center")
    axes[0].set_yscale("log")
    axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[0].yaxis.set_major_formatter(FuncFormatter(short_number))
    axes[0].yaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel("epoch of grokking")
    if runs["t_grok"].isna().any():
        legend(
            figure, [(Line2D([], [], color=NEUTRAL, ls="", marker="^", mfc="none", ms=5), "never grokked (censored)")]
        )
    return figure
