"""Figures of the dial: grokking time, and D at memorisation, against the distractor alphabet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ....figures import figures
from .delay import delay_against

if TYPE_CHECKING:
    import pandas as pd

    from ....store.results import Results

SYMBOLS = "distractor symbols q"


@figures.register("si-dial", takes="results", title="The dial")
def dial(results: Results) -> Figure:
    """Grokking time against the alphabet, with and without the prior."""
    points, alphabets = dial_points(results.runs)
    return delay_against(points, name=SYMBOLS, ticks=alphabets)


@figures.register("si-dial-divergence", takes="results", title="Divergence at memorisation")
def divergence_at_memorisation(results: Results) -> Figure:
    """D = KL(α*‖α) when train accuracy reached 99 %, against the alphabet, with and without the prior."""
    points, alphabets = dial_points(results.runs[results.runs["D_mem"].notna()])
    return delay_against(
        points.assign(t_grok=points["D_mem"]), name=SYMBOLS, what="D at memorisation (nats)", ticks=alphabets
    )


def dial_points(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The runs with their place on the dial, and the names of the places."""
    parts = runs["arm"].str.split(", ")
    alphabets = [q.removeprefix("q = ") for q in dict.fromkeys(parts.str[0])]
    place = parts.str[0].str.removeprefix("q = ").map(alphabets.index)
    return runs.assign(panel="", series=parts.str[1], x=place), alphabets
