"""Are masks periodic over the operands (grokking tickets, Figures 20 and 21)? Spectra of one run per arm, and all runs measured.

The paper shows the matrices and masks themselves, in which no period can be seen by eye; `gt-masks` draws those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ....analysis.location import mean_interval
from ....figures.data import first_seed, probed
from ....figures.panels import wrapped
from ....figures.registry import figures
from ....figures.style import NEUTRAL, PAGE_WIDTH, SEQUENTIAL, SMALL, arm_colours
from ....store.blocks import flags_of, numbers_of

if TYPE_CHECKING:
    from ....store.results import Results

SIDES = ("W_E", "W_U")
"""Matrices with an axis of operands."""
STRONGEST = 0.6
"""Share of a dimension's amplitude that gets the darkest colour; a constant share of every frequency is about 0.17."""
NARROW = 0.05
"""Dots of a row spread over this share of the panel, so that none hides another."""


@figures.register("gt-mask-periods", takes="results", needs=("masks", "mask-entropy"), title="Are masks periodic?")
def mask_periods(results: Results) -> Figure:
    """Spectra of weights and masks over the operands, of one run per arm: a column of pixels per dimension, the darker the stronger
    a frequency. Dimensions are sorted by the strongest frequency of their weights, so that a mask with the periods of its weights
    shows the same dark steps. Below, every run: Fourier entropy of the mask less that of shuffled masks (0: no period), with the
    mean and its 95 % interval.

    Of the run with the lowest seed; of a large matrix the first dimensions. The constant part (frequency 0) is left out.
    """
    masks, entropy = probed(results, "masks"), probed(results, "mask-entropy")
    sides = [side for side in SIDES if (masks["layer"] == side).any()]
    arms = {str(arm): first_seed(own).set_index("layer") for arm, own in masks.groupby("arm", sort=False)}
    heights = [1.0] * (2 * len(sides)) + [1.4]
    figure = Figure(figsize=(PAGE_WIDTH, 0.9 + 0.85 * 2 * len(sides) + 1.3))
    axes = figure.subplots(len(heights), len(arms), squeeze=False, height_ratios=heights, sharey="row")
    for (arm, own), column in zip(arms.items(), axes.T, strict=True):
        column[0].set_title(wrapped(arm, 16), size=8)
        for place, side in enumerate(sides):
            if side in own.index:
                _matrix(column[2 * place : 2 * place + 2], own.loc[side].to_dict(), transpose=side == "W_U")
        _entropies(column[-1], entropy[entropy["arm"] == arm], sides, arm_colours(list(arms))[arm])
    for place, side in enumerate(sides):
        for ax, kind in zip(axes[2 * place : 2 * place + 2, 0], ("weights", "mask"), strict=True):
            ax.set_ylabel(f"{side}, {kind}\nfrequency ω", size=SMALL)
    axes[-1, 0].set_ylabel("Fourier entropy\nover shuffled (nats)", size=SMALL)
    for ax in axes[-2]:
        ax.set_xlabel("dimension", size=SMALL)
    return figure


def _matrix(column: NDArray[Any], cells: dict[Any, Any], *, transpose: bool) -> None:
    """Spectrum of the weights above that of their mask, dimensions in the order of the strongest frequency of their weights."""
    kept = flags_of(cells["mask"], cells["rows"], cells["columns"]).astype(np.float64)
    weights, mask = (_spectrum(matrix.T if transpose else matrix) for matrix in (numbers_of(cells), kept))
    order = np.argsort(weights.argmax(axis=0), kind="stable")
    for ax, spectrum in zip(column, (weights, mask), strict=True):
        extent = (0, spectrum.shape[1], len(spectrum) + 0.5, 0.5)
        how = {"cmap": SEQUENTIAL, "vmin": 0, "vmax": STRONGEST, "extent": extent}
        ax.imshow(spectrum[:, order], aspect="auto", interpolation="none", **how)
        ax.grid(visible=False)
        ax.set_xticks([])


def _spectrum(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Amplitude of every frequency above 0 over the operands (rows), [frequency, dimension]; each dimension has norm 1."""
    amplitude = np.abs(np.fft.rfft(matrix, axis=0))[1:]
    size = np.linalg.norm(amplitude, axis=0)
    return amplitude / np.where(size > 0, size, 1.0)


def _entropies(ax: Axes, own: pd.DataFrame, sides: list[str], colour: str) -> None:
    """A dot per run, and the mean with its 95 % interval."""
    ax.axhline(0, color=NEUTRAL, lw=0.8, zorder=1)
    ax.set_xlim(-0.6, len(sides) - 0.4)
    ax.set_xticks(range(len(sides)), sides)
    if own.empty:
        ax.text(0.5, 0.5, "not pruned", transform=ax.transAxes, size=SMALL, ha="center")
        return
    for place, side in enumerate(sides):
        found = own.loc[own["layer"] == side, "excess"].to_numpy(dtype=np.float64)
        beside = place + NARROW * len(sides) * (np.arange(len(found)) % 5 - 2)
        ax.plot(beside, found, "o", color=colour, ms=2.5, mew=0, alpha=0.5, gid=f"{side}, a run")
        if len(found) > 1:
            mean, low, high = mean_interval(found)
            ax.plot([place, place], [low, high], color="black", lw=1.2, zorder=3, gid=f"{side}, interval")
            ax.plot(place, mean, "_", color="black", ms=9, mew=1.6, zorder=3, gid=f"{side}, mean")
