"""The pictures of a page, each with a caption (what to look at) and an alternative text (what it shows)."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from zlib import crc32

from markupsafe import Markup

from ..errors import ConfigError
from ..figures import FigureSpec, RunCurves, figures, outcomes, to_png, to_svg
from ..figures.captions import full_caption
from ..pages import Chart, chart_svg, figure_data, figure_svg, slim
from .charts import chart_of

PIXELS = 125
"""Width of a picture on a page, in pixels per inch of print."""
NARROWEST = 84
"""The same, below which a picture scrolls instead of shrinking further."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One picture of a page, as plain data."""

    name: str
    """Name for links and file names."""
    title: str
    """What it is, in a few words."""
    caption: str
    """What to look at."""
    alt: str
    """Alternative text for screen readers."""
    width: float
    """Inches in print."""
    height: float
    """Inches in print."""
    svg: str = ""
    """SVG text of matplotlib, to be saved as a file; a page shows it without what it can do without."""
    png: bytes = b""
    """The same as PNG bytes; empty if they are not needed."""
    small: bytes = b""
    """WebP bytes, shown in place of an SVG: an animation."""
    still: bytes = b""
    """WebP bytes of its last frame, for readers who stop it or ask for less motion."""
    chart: Chart | None = None
    """Curves that a page shows as an interactive chart, in place of the SVG."""
    chart_caption: str = ""
    """What to look at in the chart."""
    data: Sequence[Mapping[str, Any]] = ()
    """The numbers that the picture shows, as `figure_data` gives them. Those of a chart are in the page anyway."""
    on_demand: Chart | None = None
    """Curves that take the place of the still picture when the reader asks for them: for pages with many pictures."""
    lazy: bool = False
    """Whether a page holds the SVG compressed and unpacks it when it comes into view: for pages with many pictures."""

    @property
    def anchor(self) -> str:
        """Its id on a page; sections have names of their own."""
        return f"picture-{self.name}"

    @property
    def words(self) -> str:
        """The caption of what the page shows."""
        return self.chart_caption if self.chart else self.caption

    @property
    def packed(self) -> str:
        """The numbers for the download, compressed; empty if there are none."""
        return _packed(json.dumps(self.data, separators=(",", ":"), ensure_ascii=False)) if self.data else ""

    @property
    def packed_chart(self) -> str:
        """The curves that are shown on demand, compressed."""
        return _packed(json.dumps(self.on_demand.to_dict(), separators=(",", ":"))) if self.on_demand else ""

    @property
    def packed_element(self) -> str:
        """The still picture, compressed."""
        return _packed(self.element)

    @property
    def element(self) -> Markup:
        """The still picture as an element of a page."""
        if self.small:
            moving, still = (f"data:image/webp;base64,{b64encode(own).decode()}" for own in (self.small, self.still))
            # an animation shrinks to the width of a phone: one that scrolls would be seen in part
            image = f'<img src="{moving}" alt="{escape(self.alt)}" {self._size}>'
            if not self.still:
                return Markup(image)
            less = f'<source media="(prefers-reduced-motion: reduce)" srcset="{still}">'
            return Markup(f"<picture>{less}{image}</picture>")
        drawn = chart_svg(self.chart) if self.chart else slim(self.svg, f"p{crc32(self.name.encode()):x}")
        size = "" if self.chart else f' {self._size} style="min-width: {round(self.width * NARROWEST)}px"'
        return Markup(drawn.replace("<svg", f'<svg role="img" aria-label="{escape(self.alt)}"{size}', 1))

    @property
    def _size(self) -> str:
        width, height = (round(side * PIXELS) for side in (self.width, self.height))
        return f'width="{width}" height="{height}"'


def _packed(text: str) -> str:
    return b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def standard_pictures(
    runs: Sequence[RunCurves],
    medians: Mapping[str, float | None] | None = None,
    *,
    png: bool = False,
    progress: Progress = lambda doing, done, total: None,
) -> tuple[Picture, ...]:
    """Every standard figure whose metrics the runs recorded; `medians` of grokking times by arm, if known."""
    return _drawn([spec for spec in figures.standard() if not spec.missing(runs)], runs, medians, png, progress)


def chosen_pictures(
    names: Sequence[str],
    runs: Sequence[RunCurves],
    medians: Mapping[str, float | None] | None = None,
    *,
    png: bool = False,
    progress: Progress = lambda doing, done, total: None,
) -> tuple[Picture, ...]:
    """The figures of these names, in this order. ConfigError for a figure that needs more than runs."""
    specs = []
    for name in dict.fromkeys(names):
        spec = figures.spec(name)
        if spec.takes != "runs":
            raise ConfigError("figure", f"{name!r} is drawn from the results of an experiment; see grokscope reproduce")
        if missing := spec.missing(runs):
            raise ConfigError("figure", f"{name!r} needs {', '.join(missing)}, which no run recorded after epoch 0")
        specs.append(spec)
    return _drawn(specs, runs, medians, png, progress)


def _drawn(
    specs: Sequence[FigureSpec],
    runs: Sequence[RunCurves],
    medians: Mapping[str, float | None] | None,
    png: bool,
    progress: Progress,
) -> tuple[Picture, ...]:
    pictures = []
    for number, spec in enumerate(specs):
        progress("drawing pictures", number, len(specs))
        pictures.append(picture_of(spec, runs, medians, png=png))
    progress("drawing pictures", len(specs), len(specs))
    return tuple(pictures)


def picture_of(
    spec: FigureSpec,
    runs: Sequence[RunCurves],
    medians: Mapping[str, float | None] | None = None,
    *,
    png: bool = False,
) -> Picture:
    """A registered figure of the runs, drawn and explained.

    png   draw it as SVG and PNG files as well, also where a page shows a chart
    """
    became = "; ".join(f"{arm}: {outcome}" for arm, outcome in outcomes(runs).items())
    chart, caption, title = chart_of(spec.name, runs) or (None, "", "")
    alt = f"{spec.shows} {became}."
    if chart and not png:  # what the page shows is not drawn by matplotlib, which takes most of the time of a page
        return Picture(
            name=spec.name,
            title=title or spec.title,
            caption=spec.caption,
            alt=f"Line charts over epochs on a log scale, median and middle half of the seeds of each arm. {became}.",
            width=7.0,
            height=3.0,
            chart=chart,
            chart_caption=caption,
        )
    figure = spec.draw_page(runs, medians)
    width, height = map(float, figure.get_size_inches())
    return Picture(
        name=spec.name,
        title=title or spec.title,
        caption=full_caption(spec.caption, figure),
        alt=alt,
        width=width,
        height=height,
        svg=to_svg(figure) if png else figure_svg(figure),
        png=to_png(figure) if png else b"",
        chart=chart,
        chart_caption=caption,
        data=() if chart else figure_data(figure),
    )
