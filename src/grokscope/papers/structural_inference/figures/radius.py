"""How far runs of fixed norm come (structural inference, Figure 2): best test accuracy against the radius of norm matching."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....errors import ConfigError
from ....figures.panels import legend, subtitle
from ....figures.registry import figures
from ....figures.style import NEUTRAL, PAGE_WIDTH, SMALL, Look, arm_looks

if TYPE_CHECKING:
    from ....store.results import Results

GROKKED = 0.99
NAME = r"^(?P<regime>.*?)(?:, )?(?P<norm>radius [\d.]+|weight decay), (?P<prior>[^,]+)$"
"""Names of the arms."""
DECAY = "weight decay"
WIDE = 0.012
"""Dots beside their radius, as a share of the range of radii."""


@figures.register("si-radius", takes="results", title="Best test accuracy by radius")
def accuracy_by_radius(results: Results) -> Figure:
    """Best test accuracy of every run against the radius on which its MLP is held, with the median of each prior.
    Beside them, runs with weight decay in place of norm matching. The dashed line stands at 99 %, which counts as grokking.
    """
    runs = results.runs.join(results.runs["arm"].str.extract(NAME))
    runs = runs[runs["norm"].notna()]
    if runs.empty:
        raise ConfigError("arms", "none is named like `radius 20, oracle`")
    runs = runs.assign(radius=pd.to_numeric(runs["norm"].str.removeprefix("radius "), errors="coerce"))
    regimes = list(dict.fromkeys(runs["regime"]))
    looks = arm_looks(list(dict.fromkeys(runs["prior"])))
    radii = runs["radius"].dropna()
    width = float(radii.max() - radii.min()) if len(radii) else 1.0
    aside = float(radii.max()) + 0.26 * (width or 1.0) if len(radii) else 0.0
    figure = Figure(figsize=(PAGE_WIDTH if len(regimes) > 1 else 0.6 * PAGE_WIDTH, 2.9))
    axes = figure.subplots(1, len(regimes), sharex=True, sharey=True, squeeze=False)[0]
    for ax, regime in zip(axes, regimes, strict=True):
        own = runs[runs["regime"] == regime]
        placed = own.assign(x=own["radius"].fillna(aside))
        for place, (prior, look) in enumerate(looks.items()):
            _dots(ax, placed[placed["prior"] == prior], look, (place - 1) * WIDE * width)
        held = own[own["norm"] != DECAY]
        reached = int((held["best_test_accuracy"] >= GROKKED).sum())
        ax.axhline(GROKKED, color=NEUTRAL, lw=0.8, ls="--", zorder=1, gid="99 %")
        if (own["norm"] == DECAY).any():
            ax.axvline(aside - 0.13 * width, color=NEUTRAL, lw=0.5, zorder=1)
        ax.set_title(regime, pad=28)
        subtitle(ax, f"{reached or 'none'} of {len(held)} runs of fixed\nnorm reach{'es' * (reached < 2)} 99 %")
        ax.set_xlabel("radius ‖θ‖ of the MLP")
    axes[0].set_ylabel("best test accuracy (fraction)")
    axes[0].set_ylim(-0.03, 1.05)
    _ticks(axes[0], sorted(set(radii)), aside if (runs["norm"] == DECAY).any() else None)
    entries = [
        (Line2D([], [], color=look.colour, ls=look.dashes, marker=look.marker, ms=3.5, mew=0), prior)
        for prior, look in looks.items()
    ]
    legend(figure, entries)
    return figure


def _dots(ax: Axes, own: pd.DataFrame, look: Look, beside: float) -> None:
    """A dot per run, and a line through the medians of the radii."""
    y = own["best_test_accuracy"].astype(float)
    ax.plot(own["x"] + beside, y, look.marker, color=look.colour, ms=2.6, mew=0, alpha=0.45, gid="a run")
    held = own[own["radius"].notna()]
    middle = held.groupby("x")["best_test_accuracy"].median().astype(float)
    ax.plot(middle.index + beside, middle, color=look.colour, ls=look.dashes, lw=1.4, gid="median")


def _ticks(ax: Axes, radii: list[float], aside: float | None) -> None:
    """Round radii, or the least and the largest if few are round, and the place of weight decay."""
    even = [radius for radius in radii if radius % 10 == 0] if len(radii) > 4 else []
    shown = even if len(even) > 2 else sorted({*even, *radii[:1], *radii[-1:]})
    places, labels = [*shown], [f"{radius:g}" for radius in shown]
    if aside is not None:
        places, labels = [*places, aside], [*labels, "weight\ndecay"]
    ax.set_xticks(np.array(places), labels, size=SMALL)
