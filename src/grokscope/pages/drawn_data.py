"""The numbers that a figure of matplotlib shows, by panel and series; a page saves them as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MOST_CELLS = 20_000
"""Cells of images per figure; later images are left out."""
DIGITS = 4
"""Significant digits: more than a picture shows."""
DIGITS_OF_BANDS = 3
"""Those of the ends of a band."""
Row = tuple[str, Any, Any, Any, Any]
"""Series, x, y, low, high."""


def figure_data(figure: Figure) -> list[dict[str, Any]]:
    """Lines, bands, dots, bars and images of all panels, one entry per series: its panel, the labels of the axes, its name, and the
    columns x, y, low and high that it has. Marks that are not in the units of the data are left out. Where its panel is (`box`,
    `limits`, `logs`) is known once the figure has been laid out."""
    found: list[dict[str, Any]] = []
    cells = 0
    for number, ax in enumerate(figure.axes):
        if not ax.get_visible():
            continue
        labels = {"panel": _title(ax) or f"panel {number + 1}", "x label": ax.get_xlabel(), "y label": ax.get_ylabel()}
        about = {**labels, **_axes(ax)}
        for name, rows in groupby((*_lines(ax), *_collections(ax), *_bars(ax)), key=itemgetter(0)):
            columns = zip(*((x, y, low, high) for _, x, y, low, high in rows), strict=True)
            digits = {"x": DIGITS, "y": DIGITS, "low": DIGITS_OF_BANDS, "high": DIGITS_OF_BANDS}
            named = {n: [_short(v, digits[n]) for v in own] for n, own in zip(digits, columns, strict=True)}
            found.append({**about, "series": name, **{n: own for n, own in named.items() if any(v != "" for v in own)}})
        for place, image in enumerate(ax.images):
            values = _plain(image.get_array())
            cells += values.size
            if values.ndim == 2 and cells <= MOST_CELLS:
                y, x = (axis.ravel().tolist() for axis in np.indices(values.shape))
                own = {"x": x, "y": y, "value": [_short(v) for v in values.ravel().tolist()]}
                found.append({**about, "series": f"image {place + 1}", **own})
    return found


def _axes(ax: Axes) -> dict[str, Any]:
    """Where the panel is, as fractions of the figure from its lower left corner, and what its axes span."""
    limits = [float(f"{end:.6g}") for end in (*ax.get_xlim(), *ax.get_ylim())]
    return {
        "box": [round(side, 4) for side in ax.get_position().bounds],
        "limits": limits,
        "logs": [scale == "log" for scale in (ax.get_xscale(), ax.get_yscale())],
    }


def _plain(values: Any) -> NDArray[np.float64]:
    """As numbers, NaN where they are masked."""
    return np.ma.filled(np.ma.masked_array(values, dtype=float), np.nan)


def _title(ax: Axes) -> str:
    return " ".join(next((t for where in ("left", "center", "right") if (t := ax.get_title(loc=where))), "").split())


def _in_data(artist: Any, ax: Axes) -> bool:
    return all(artist.get_transform().contains_branch_seperately(ax.transData))


def _name(artist: Any, otherwise: str) -> str:
    label = str(artist.get_label())
    return artist.get_gid() or otherwise if label.startswith("_") or not label else label


def _lines(ax: Axes) -> Iterator[Row]:
    for number, line in enumerate(ax.lines):
        if not _in_data(line, ax):
            continue
        name = _name(line, f"line {number + 1}")
        for x, y in _plain(line.get_xydata()):
            if np.isfinite(x) and np.isfinite(y):
                yield name, _category(ax.xaxis, x), _category(ax.yaxis, y), "", ""


def _collections(ax: Axes) -> Iterator[Row]:
    for number, drawn in enumerate(ax.collections):
        name = _name(drawn, f"{'dots' if isinstance(drawn, PathCollection) else 'area'} {number + 1}")
        if isinstance(drawn, PathCollection):
            for x, y in _plain(drawn.get_offsets()):
                yield name, _category(ax.xaxis, x), _category(ax.yaxis, y), "", ""
        elif isinstance(drawn, LineCollection) and _in_data(drawn, ax):
            for segment in drawn.get_segments():
                (x, low), (_, high) = segment[0], segment[-1]
                yield name, _category(ax.xaxis, x), _category(ax.yaxis, (low + high) / 2), low, high
        elif isinstance(drawn, PolyCollection) and _in_data(drawn, ax):
            for path in drawn.get_paths():
                vertices = _plain(path.vertices)
                points = vertices[np.isfinite(vertices).all(1)]
                for x in np.unique(points[:, 0]):
                    own = points[points[:, 0] == x, 1]
                    yield name, x, "", own.min(), own.max()


def _bars(ax: Axes) -> Iterator[Row]:
    for patch in ax.patches:
        if isinstance(patch, Rectangle) and _in_data(patch, ax):
            x, low = patch.get_x() + patch.get_width() / 2, patch.get_y()
            yield _name(patch, "bar"), _category(ax.xaxis, x), low + patch.get_height(), low, low + patch.get_height()


def _category(axis: Axis, value: float) -> Any:
    """The label of a value on an axis of names, e.g. of arms; the value itself on an axis of numbers."""
    places = axis.get_ticklocs() if isinstance(axis.get_major_locator(), FixedLocator) else ()
    if not len(places):
        return value
    nearest = min(places, key=lambda place: abs(place - value))
    label = " ".join(axis.get_major_formatter()(nearest).split())
    return label if any(letter.isalpha() for letter in label.replace("e", "")) else value


def _short(value: Any, digits: int = DIGITS) -> Any:
    """A number with few digits, whole where it is whole; names as they are, "" for what is missing."""
    if isinstance(value, str):
        return value
    if not np.isfinite(value):
        return ""
    short = float(f"{value:.{max(digits, len(str(int(abs(value)))))}g}")
    return int(short) if short == int(short) else short
