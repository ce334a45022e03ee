"""What probes found in checkpoints, as curves with one row per checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from ....experiments.collect import curves_from
from ....figures import RunCurves

if TYPE_CHECKING:
    import pandas as pd

    from ....store.results import Results

MANY = 8
"""Most seeds that are drawn as lines of full strength."""


def checkpoint_curves(results: Results, table: pd.DataFrame) -> list[RunCurves]:
    """What a probe found, as curves: `table` has one row per checkpoint, with columns run and epoch."""
    ids = results.runs["run"]
    groups = dict(list(table.groupby("run")))
    return [replace(curves, metrics=groups[run]) for run, curves in zip(ids, curves_from(results), strict=True)]


def draw_checkpoints(ax: Axes, runs: Sequence[RunCurves], column: str, colour: str, mark: str) -> None:
    """One thin line per seed, with a mark at every checkpoint; fainter where there are many."""
    size, width, alpha = (3, 0.8, 0.8) if len(runs) <= MANY else (2, 0.5, 0.35)
    for run in runs:
        (line,) = ax.plot(*run.series(column), color=colour, marker=mark, ms=size, lw=width, alpha=alpha, zorder=2)
        line.set(clip_on=False, gid=column)
