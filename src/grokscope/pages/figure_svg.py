"""Figures of matplotlib as SVG for a page: laid out once, with text as text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import matplotlib as mpl

from ..figures.style import our_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_svg(figure: Figure) -> str:
    """The figure as SVG in which letters are text, not outlines: smaller, and readable by machines and people alike."""
    buffer = io.BytesIO()
    with our_style(), mpl.rc_context({"figure.constrained_layout.use": False, "svg.fonttype": "none"}):
        if (places := figure.get_layout_engine()) is not None:
            places.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue().decode()
