"""What probes found in checkpoints, as curves with one row per checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from ....experiments.collect import curves_from
from ....figures import RunCurves
from ....figures.curves import draw_seeds

if TYPE_CHECKING:
    import pandas as pd

    from ....store.results import Results


def checkpoint_curves(results: Results, table: pd.DataFrame) -> list[RunCurves]:
    """What a probe found, as curves: `table` has one row per checkpoint, with columns run and epoch."""
    ids = results.runs["run"]
    groups = dict(list(table.groupby("run")))
    return [replace(curves, metrics=groups[run]) for run, curves in zip(ids, curves_from(results), strict=True)]


def draw_checkpoints(ax: Axes, runs: Sequence[RunCurves], column: str, colour: str, mark: str) -> None:
    """Median and middle half of the seeds, with a mark at every checkpoint."""
    draw_seeds(ax, runs, column, colour, column, spread="half", marker=mark, ms=3, mew=0.8, lw=1.0)
