"""Curves of runs on common epochs: few enough points to send and draw at every update.

A point of the grid is an epoch at which some run was evaluated. Where there are more of them than points, each stands for the
epochs since the one before it, a pixel or two on the axis, and shows the last value among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..store import Columns

Values = NDArray[np.float64]

POINTS = 300
"""Most points of a curve."""


class Band(NamedTuple):
    """Several runs together; NaN where fewer than half of them have come."""

    middle: Values
    """Median."""
    low: Values
    """10th percentile."""
    high: Values
    """90th percentile."""


def common_epochs(tables: Sequence[Columns], *, log: bool, points: int = POINTS) -> Values:
    """Epochs at which the runs are drawn: all of them, or `points` spread evenly over the axis.

    log   the axis of epochs is logarithmic, and cannot show epoch 0
    """
    # Runs of one sweep are evaluated at the same epochs: each distinct array counts once.
    distinct = {table["epoch"].tobytes(): table["epoch"] for table in tables if len(table["epoch"])}
    if not distinct:
        return np.empty(0)
    epochs = np.unique(np.concatenate(list(distinct.values())))
    epochs = epochs[epochs > 0] if log else epochs
    if len(epochs) <= points:
        return epochs
    place = np.log(epochs) if log else epochs
    bucket = np.floor((place - place[0]) / (place[-1] - place[0]) * (points - 1) + 1e-9)
    return epochs[np.append(np.flatnonzero(np.diff(bucket)), len(epochs) - 1)]


def sampled(table: Columns, metric: str, grid: Values, *, positive: bool = False) -> Values:
    """One run on the grid: its last finite value since the point before, NaN where it has none.

    positive   values that are not above 0 count as missing: a log axis cannot show them
    """
    epochs, values = _finite(table, metric, positive)
    if not len(epochs) or not len(grid):
        return np.full(len(grid), np.nan)
    index = np.searchsorted(epochs, grid, side="right") - 1
    before = np.concatenate([[-np.inf], grid[:-1]])
    found = (index >= 0) & (epochs[index] > before)
    return np.where(found, values[index], np.nan)


def band(tables: Sequence[Columns], metric: str, grid: Values, *, positive: bool = False) -> Band:
    """Median and band of several runs on the grid.

    A run that has stopped keeps its last value, so that the median does not jump when the fastest run ends; curves end where
    fewer than half of the runs still train. Runs without a value are omitted.
    """
    kept = [(epochs, values) for epochs, values in (_finite(t, metric, positive) for t in tables) if len(epochs)]
    result = np.full((3, len(grid)), np.nan)
    if kept and len(grid):
        ends = sorted((epochs[-1] for epochs, _ in kept), reverse=True)
        start, end = max(epochs[0] for epochs, _ in kept), ends[(len(kept) + 1) // 2 - 1]
        inside = (grid >= start) & (grid <= end)
        if inside.any():
            values = np.array([np.interp(grid[inside], epochs, own) for epochs, own in kept])
            result[:, inside] = np.quantile(values, [0.1, 0.5, 0.9], axis=0)
    return Band(result[1], result[0], result[2])


def _finite(table: Columns, metric: str, positive: bool) -> tuple[Values, Values]:
    values = table.get(metric)
    if values is None:
        return np.empty(0), np.empty(0)
    finite = np.isfinite(values)
    if positive:
        finite &= values > 0
    return (table["epoch"], values) if finite.all() else (table["epoch"][finite], values[finite])


def plain(values: Values) -> list[float | None]:
    """Numbers for JSON, rounded to four digits; null for what is missing."""
    finite = np.isfinite(values) & (values != 0)
    size = np.floor(np.log10(np.abs(np.where(finite, values, 1.0))))
    scale = 10.0 ** np.clip(3 - size, -300, 300)
    rounded = np.where(finite, np.round(values * scale) / scale, values)
    return [number if number - number == 0 else None for number in rounded.tolist()]
