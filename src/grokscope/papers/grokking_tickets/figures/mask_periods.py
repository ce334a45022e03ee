"""Are masks periodic over the operands (grokking tickets, Figures 20 and 21)? Spectra of one run per arm, and all runs measured.

The paper shows the matrices and masks themselves, in which a period is hard to see by eye; `gt-masks` draws those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ....analysis.location import mean_interval
from ....figures.data import first_seed, probed
from ....figures.panels import legend, log_values, wrapped
from ....figures.registry import figures
from ....figures.style import NEUTRAL, PAGE_WIDTH, SMALL, arm_colours
from ....store.blocks import flags_of, numbers_of

if TYPE_CHECKING:
    from ....store.results import Results

SIDES = ("W_E", "W_U")
"""Matrices with an axis of operands."""


@figures.register("gt-mask-periods", takes="results", needs=("masks", "mask-entropy"), title="Are masks periodic?")
def mask_periods(results: Results) -> Figure:
    """Power of each frequency over the operands, in weights and in masks, as a multiple of what it is without any period.
    Mean over the dimensions of one run per arm: a mask with the periods of its weights has the same peaks. Below, every run:
    Fourier entropy of the mask less that of shuffled masks (0: no period), with the mean and its 95 % interval.

    Of the run with the lowest seed; of a large matrix the first dimensions. The constant part (frequency 0) is left out.
    """
    masks, entropy = probed(results, "masks"), probed(results, "mask-entropy")
    sides = [side for side in SIDES if (masks["layer"] == side).any()]
    arms = {str(arm): first_seed(own).set_index("layer") for arm, own in masks.groupby("arm", sort=False)}
    colours = arm_colours(list(arms))
    heights = [1.1] * len(sides) + [1.4]
    figure = Figure(figsize=(PAGE_WIDTH, 1.0 + sum(heights)))
    axes = figure.subplots(len(heights), len(arms), squeeze=False, height_ratios=heights, sharey="row")
    for (arm, own), column in zip(arms.items(), axes.T, strict=True):
        column[0].set_title(wrapped(arm, 16), size=8)
        for ax, side in zip(column, sides, strict=False):
            ax.axhline(1, color=NEUTRAL, lw=0.6, ls=":", zorder=1)
            if side in own.index:
                _spectra(ax, own.loc[side].to_dict(), colours[arm], transpose=side == "W_U")
        column[-2].set_xlabel("frequency ω", size=SMALL)
        _entropies(column[-1], entropy[entropy["arm"] == arm], sides, colours[arm])
    for ax, side in zip(axes[:, 0], sides, strict=False):
        log_values(ax)
        ax.set_ylabel(f"{side}: power\n(1: no period)", size=SMALL)
    axes[-1, 0].set_ylabel("mask entropy,\nless shuffled (nats)", size=SMALL)
    tuple_of_colours = tuple(Line2D([], [], color=colours[arm], lw=1.3) for arm in list(arms)[:4])
    pruned = [arm for arm in arms if (entropy["arm"] == arm).any()]
    dots = tuple(Line2D([], [], color=colours[arm], ls="", marker="o", ms=3, mew=0) for arm in pruned[:3])
    entries: list[tuple[Any, str]] = [(Line2D([], [], color=NEUTRAL, lw=0.9), "weights"), (tuple_of_colours, "mask")]
    entries += [(dots, "a run"), (Line2D([], [], color="black", lw=1.2, marker="_", ms=8), "mean, 95 % interval")]
    legend(figure, entries)
    return figure


def _spectra(ax: Axes, cells: dict[Any, Any], colour: str, *, transpose: bool) -> None:
    """Mean power of every frequency in the weights and in their mask."""
    kept = flags_of(cells["mask"], cells["rows"], cells["columns"]).astype(np.float64)
    drawn = {"weights": (numbers_of(cells), NEUTRAL, 0.9), "mask": (kept, colour, 1.3)}
    for name, (matrix, line, width) in drawn.items():
        power = mean_power(matrix.T if transpose else matrix)
        ax.plot(np.arange(1, len(power) + 1), power, color=line, lw=width, gid=name)


def mean_power(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Power of every frequency above 0 over the rows, as a multiple of the mean over frequencies, averaged over the columns that
    vary; [operand, dimension] → [frequency]."""
    power = np.abs(np.fft.rfft(matrix, axis=0))[1:] ** 2
    total = power.sum(axis=0)
    varied = total > 1e-9 * total.max(initial=0.0)
    return (
        np.asarray((power[:, varied] / total[varied]).mean(axis=1) * len(power))
        if varied.any()
        else power[:, 0] * np.nan
    )


def _entropies(ax: Axes, own: pd.DataFrame, sides: list[str], colour: str) -> None:
    """A dot per run, and the mean with its 95 % interval."""
    ax.axhline(0, color=NEUTRAL, lw=0.6, ls=":", zorder=1)
    ax.set_xlim(-0.6, len(sides) - 0.4)
    ax.set_xticks(range(len(sides)), sides)
    if own.empty:
        ax.text(0.5, 0.5, "not pruned", transform=ax.transAxes, size=SMALL, ha="center")
        return
    for place, side in enumerate(sides):
        found = own.loc[own["layer"] == side, "excess"].to_numpy(dtype=np.float64)
        beside = place + 0.1 * (np.arange(len(found)) % 5 - 2)  # so that no dot hides another
        ax.plot(beside, found, "o", color=colour, ms=2.5, mew=0, alpha=0.5, gid=f"{side}, a run")
        if len(found) > 1:
            mean, low, high = mean_interval(found)
            ax.plot([place, place], [low, high], color="black", lw=1.2, zorder=3, gid=f"{side}, interval")
            ax.plot(place, mean, "_", color="black", ms=9, mew=1.6, zorder=3, gid=f"{side}, mean")
