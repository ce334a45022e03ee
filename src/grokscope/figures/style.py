"""The one style of all figures, and how a figure becomes a file.

Palette: Okabe and Ito (2008), safe for colour-blind readers; it lives in `grokscope.mplstyle` with the fonts and sizes.
Figures are made without pyplot, so drawing needs no display and leaves no global state behind.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib as mpl
import matplotlib.style
from matplotlib.figure import Figure

from ..store import save_file

P = ParamSpec("P")

PAGE_WIDTH = 7.0
"""Width of a two-column page, in inches: no figure is wider, so no font is scaled below 7 pt in print."""
COLUMN_WIDTH = 3.4
"""Width of one column, in inches."""
SMALL = 7.0
"""The smallest font size, in points."""
TRAIN_COLOUR = "#666666"
TEST_COLOUR = "#0072B2"
PHASE_COLOURS = ("#CFE0F2", "#FBE3B4", "#E6CDE6", "#C5E8CF", "#E0E0E0", "#F7CFC4")


@contextmanager
def our_style() -> Iterator[None]:
    """Our style on top of matplotlib's defaults; the user's own matplotlibrc is ignored."""
    with as_file(files(__package__) / "grokscope.mplstyle") as path, mpl.style.context(path, after_reset=True):
        yield


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Run a drawing function in our style."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with our_style():
            return draw(*args, **kwargs)

    return drawn


def arm_colours(names: list[str], *, ordered: bool = False) -> dict[str, str]:
    """A colour for every arm, the same in every figure.

    Arms that stand in an order (a setting that grows), and more arms than the palette has, are spread over viridis.
    """
    with our_style():
        palette: list[str] = [entry["color"] for entry in mpl.rcParams["axes.prop_cycle"]]
    if ordered or len(names) > len(palette):
        ramp = mpl.colormaps["viridis"]
        palette = [mpl.colors.to_hex(ramp(0.92 * i / max(len(names) - 1, 1))) for i in range(len(names))]
    return dict(zip(names, palette, strict=False))


def to_file(figure: Figure, kind: str, **how: Any) -> bytes:
    """The figure as the bytes of a file; its panels are laid out once, not again for every file."""
    buffer = io.BytesIO()
    with our_style(), mpl.rc_context({"figure.constrained_layout.use": False}):
        if (places := figure.get_layout_engine()) is not None:
            places.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(buffer, format=kind, **how)
    return buffer.getvalue()


def to_svg(figure: Figure) -> str:
    """The figure as SVG text; the same figure gives the same text, with no date in it."""
    return to_file(figure, "svg", metadata={"Date": None, "Creator": None}).decode()


def to_png(figure: Figure) -> bytes:
    """The figure as PNG, 200 dots per inch."""
    return to_file(figure, "png", metadata={"Software": None})


def save(figure: Figure, stem: str | Path) -> tuple[Path, Path]:
    """Write `stem`.svg and `stem`.png, creating the folder if necessary; returns both paths."""
    stem = Path(stem)
    svg, png = (stem.with_name(f"{stem.name}.{ending}") for ending in ("svg", "png"))
    return save_file(svg, to_svg(figure)), save_file(png, to_png(figure))
