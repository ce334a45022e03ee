"""Captions that say what is drawn: pages leave out lines of single seeds, and arms of one or two runs have no median."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .curves import HALF, MEDIAN, SEED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def spread_words(figure: Figure) -> str:
    """What the lines and bands of seeds are, in one sentence; empty if the figure has none."""
    drawn = [str(a.get_gid() or "") for ax in figure.axes for a in (*ax.lines, *ax.collections)]
    seeds = SEED in drawn
    median, half = (any(gid.endswith(name) for gid in drawn) for name in (MEDIAN, HALF))
    if seeds:
        return "Thin lines are seeds, the thick line is their median, the band their middle half."
    if half:
        return "A line is the median of its seeds, the band around it their middle half."
    return "A line is the median of its seeds." if median else ""


def full_caption(caption: str, figure: Figure) -> str:
    """The caption of a figure, followed by what its lines and bands of seeds are."""
    return " ".join(filter(None, (caption, spread_words(figure))))
