"""The picture of a search: the held-out loss of every candidate over epochs, the winner on top."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from ..errors import StoreError
from ..figures.style import MEANINGS, PAGE_WIDTH, styled, to_png, to_svg
from ..report.pictures import Picture
from ..store import read_each, read_run
from .candidates import CURVES, Units, name_of, ranked
from .tournament import Tournament

PANELS = dict(zip(CURVES, ("held-out loss (nats)", "the same, calibrated (nats)"), strict=True))
DRAWN = 400
"""Most candidates that are drawn: the best at their last rung."""


def losses_of(tournament: Tournament, runs: Path) -> dict[Units, pd.DataFrame]:
    """Epochs and losses of the best candidates, up to where the search trained them."""
    best = ranked([list(entry.standings.values())[-1] for entry in tournament.entries.values() if entry.standings])
    drawn = [tournament.entries[one.units] for one in best[:DRAWN]]
    longer = [entry for entry in drawn if not entry.curve or entry.curve["epoch"][-1] != entry.epochs]
    stored = {}
    for entry, table in zip(longer, read_each([read_run(runs / one.run) for one in longer], CURVES), strict=True):
        if isinstance(table, StoreError):
            raise table
        frame = table.to_pandas()
        stored[entry.units] = frame[frame["epoch"] <= entry.epochs]
    return {one.units: stored[one.units] if one.units in stored else pd.DataFrame(one.curve) for one in drawn}


def _points(curve: pd.DataFrame, column: str) -> np.ndarray:
    return np.stack([curve[name].to_numpy(dtype=float) for name in ("epoch", column)], axis=1)


@styled
def draw(tournament: Tournament, losses: Mapping[Units, pd.DataFrame]) -> Figure:
    """One line per candidate, plain loss on the left, calibrated on the right; rungs are vertical lines, chance is horizontal."""
    figure = Figure(figsize=(PAGE_WIDTH, 3.0), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True)
    colour = MEANINGS["oracle prior"].look.colour
    rungs = sorted({entry.dropped for entry in tournament.entries.values() if entry.dropped is not None})
    for ax, (column, label) in zip(axes, PANELS.items(), strict=True):
        # one artist for all: a plot of each of 400 takes a second
        others = [_points(curve, column) for units, curve in losses.items() if units != tournament.winner]
        ax.add_collection(LineCollection(others, colors="#999999", linewidths=0.7, alpha=0.6))
        if tournament.winner is not None and tournament.winner in losses:
            curve, name = losses[tournament.winner], name_of(tournament.family, tournament.winner)
            ax.plot(curve["epoch"], curve[column], color=colour, lw=2, label=name, zorder=3)
        ax.axhline(tournament.chance, color="black", lw=0.8, ls=":", label="chance")
        for number, rung in enumerate(rungs):
            ax.axvline(rung, color="black", lw=0.6, ls="--", alpha=0.5, label="" if number else "candidates dropped")
        ax.plot([], [], color="#999999", lw=0.7, label="other candidates")
        ax.set_xscale("symlog", linthresh=25)
        ax.set_xlim(left=0)
        ax.set_xlabel("epoch")
        ax.set_ylabel(label)
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def picture_of(tournament: Tournament, runs: Path) -> Picture:
    losses = losses_of(tournament, runs)
    figure = draw(tournament, losses)
    width, height = map(float, figure.get_size_inches())
    count = len(tournament.entries)
    some = "" if len(losses) == count else f" The best {len(losses)} of {count} candidates are drawn."
    return Picture(
        name="tournament",
        title="The race",
        caption="Each line is a candidate: a run that is drawn towards the tokens it names. Its loss is taken on validation "
        "examples. Candidates are judged by the calibrated loss on the right, in which being sure of wrong answers costs nothing: "
        "a line that leaves chance has found something that holds beyond the training examples." + some,
        alt=f"Line chart of the held-out loss of {len(losses)} candidates over epochs. {tournament.verdict()}",
        width=width,
        height=height,
        svg=to_svg(figure),
        png=to_png(figure),
    )
