"""The pictures of a page, each with a caption (what to look at) and an alternative text (what it shows)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from matplotlib.figure import Figure

from .. import figures
from ..figures import RunCurves, outcomes, recorded

LARGEST_SVG = 900_000
"""Characters. A picture with more lines than that is embedded as PNG, so that five of them stay under 5 MB."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One picture of a page, as plain data."""

    name: str
    """A word for links and file names."""
    title: str
    """What it is, in a few words."""
    caption: str
    """What to look at."""
    alt: str
    """What it shows, for those who do not see it."""
    width: float
    """Inches in print."""
    height: float
    """Inches in print."""
    svg: str = ""
    """SVG text: what a page shows, unless it is too large."""
    png: bytes = b""
    """The same as PNG bytes."""
    small: bytes = b""
    """The same as WebP bytes, in place of the others on a page of many pictures."""

    @property
    def source(self) -> str:
        """The picture as a data address: an SVG inside an image keeps its ids and styles to itself."""
        kind, data = ("png", self.png) if len(self.svg) > LARGEST_SVG else ("svg+xml", self.svg.encode())
        kind, data = ("webp", self.small) if self.small else (kind, data)
        return f"data:image/{kind};base64,{b64encode(data).decode()}"


class PicturePlan(NamedTuple):
    """How a picture is made and explained."""

    draw: Callable[[Sequence[RunCurves]], Figure]
    needs: str
    """The metric without which there is nothing to draw."""
    title: str
    shows: str
    """Opening of the alternative text."""
    caption: str


PLANS = (
    PicturePlan(
        figures.accuracy_and_divergence,
        "test_accuracy",
        "Accuracy and divergence",
        "Line charts over epochs on a log scale: train and test accuracy above, divergence D below.",
        "Look first at the gap between the grey train curve and the coloured test curve: that is the wait called "
        "grokking. Then look down: D measures how far attention is from the informative positions (0 = exactly on "
        "them). If structure is what the run is waiting for, D falls before test accuracy rises. "
        "The shaded phases are those of the middle seed; triangles mark when each seed grokked.",
    ),
    PicturePlan(
        figures.grokking_times,
        "epoch",
        "Grokking times",
        "Dot plot of the epoch of grokking, a row for each arm and a dot for each seed.",
        "Every run is here, also those that have not grokked: a hollow triangle says “not by this epoch”, which is all "
        "that is known about it. Compare whole clouds of seeds, not single runs; the scale is logarithmic, so equal "
        "distances are equal factors.",
    ),
    PicturePlan(
        figures.attention_mass,
        "attention_0",
        "Where attention goes",
        "Stacked areas over epochs: share of attention on each position of the sequence.",
        "The stack adds up to 1. The positions that decide the label are blue, at the bottom (when they are the same "
        "for every input); grey is wasted on distractors. Watch when blue grows: during memorisation, on the plateau, "
        "or only at the dashed line where the middle seed groks.",
    ),
    PicturePlan(
        figures.gradient_under_bound,
        "grad_logit",
        "The attention gradient under its bound",
        "Log-log line charts: largest task gradient on an attention logit, below two upper bounds of Lemma 5.1.",
        "Once the training set is memorised (dotted line) the task loss is nearly 0, and Lemma 5.1 says that the "
        "gradient which could still repair attention must fade with it: the coloured line has to stay under the black "
        "one. "
        "Below, the norm of the task gradient on the attention matrix M tells the same story.",
    ),
    PicturePlan(
        figures.mlp_norm,
        "mlp_norm",
        "Norm of the MLP",
        "Line chart over epochs: Frobenius norm of the MLP weights for each arm.",
        "Memorising needs large weights and weight decay wears them down. Dots mark grokking: see whether runs grok at "
        "a similar norm, and whether an arm that does not grok is kept from it by its norm or by its attention.",
    ),
)


def standard_pictures(
    runs: Sequence[RunCurves], medians: Mapping[str, float | None] | None = None
) -> tuple[Picture, ...]:
    """All pictures for which the runs recorded something; `medians` of grokking times by arm, if known."""
    told = "; ".join(f"{arm}: {outcome}" for arm, outcome in outcomes(runs).items())
    pictures = []
    for plan in PLANS:
        if not recorded(runs, plan.needs):
            continue
        draw = partial(figures.grokking_times, medians=medians) if plan.draw is figures.grokking_times else plan.draw
        name = plan.draw.__name__
        pictures.append(picture_of(draw(runs), name, plan.title, plan.caption, f"{plan.shows} {told}."))
    return tuple(pictures)


def picture_of(figure: Figure, name: str, title: str, caption: str, alt: str) -> Picture:
    """A drawn figure as a picture of a page."""
    width, height = map(float, figure.get_size_inches())
    svg, png = figures.to_svg(figure), figures.to_png(figure)
    return Picture(name=name, title=title, caption=caption, alt=alt, width=width, height=height, svg=svg, png=png)
