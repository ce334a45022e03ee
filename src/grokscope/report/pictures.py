"""The pictures of a page, each with a caption (what to look at) and an alternative text (what it shows)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import ConfigError
from ..figures import FigureSpec, RunCurves, figures, outcomes, to_png, to_svg

LARGEST_SVG = 600_000
"""Characters. A larger picture is embedded as PNG, so that the five standard ones, a third longer as text, stay under 5 MB."""

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
    """SVG text: what a page shows, unless it is too large."""
    png: bytes = b""
    """The same as PNG bytes; empty if they are not needed."""
    small: bytes = b""
    """The same as WebP bytes, used instead of the others on a page with many figures."""

    @property
    def source(self) -> str:
        """The picture as a data address: an SVG inside an image keeps its ids and styles to itself."""
        kind, data = ("png", self.png) if len(self.svg) > LARGEST_SVG else ("svg+xml", self.svg.encode())
        kind, data = ("webp", self.small) if self.small else (kind, data)
        return f"data:image/{kind};base64,{b64encode(data).decode()}"


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

    png   make a PNG as well, also where a page shows the SVG
    """
    figure = spec.draw_page(runs, medians)
    width, height = map(float, figure.get_size_inches())
    svg = to_svg(figure)
    became = "; ".join(f"{arm}: {outcome}" for arm, outcome in outcomes(runs).items())
    return Picture(
        name=spec.name,
        title=spec.title,
        caption=spec.caption,
        alt=f"{spec.shows} {became}.",
        width=width,
        height=height,
        svg=svg,
        png=to_png(figure) if png or len(svg) > LARGEST_SVG else b"",
    )
