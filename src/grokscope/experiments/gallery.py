"""The gallery: one offline page with every experiment's question, verdicts and pictures, rebuilt from stored results."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..figures import outcomes
from ..figures.style import to_file
from ..report import Page, Picture, Section, render
from ..store.results import Results
from .base import VERDICTS, Experiment
from .clauses import KEY
from .collect import curves_from
from .drawing import drawn_pictures
from .ledger import Ledger

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS, DPI = 128, 130
"""Colours of a picture, and dots an inch: the page holds many pictures. With 64 colours two phases can look alike."""


def gallery(ledger: Ledger, rows: Sequence[dict[str, Any]], command: str) -> str:
    """The page as HTML; `rows` are the ledger's."""
    verdicts = Counter(row["verdict"] for row in rows)
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)
    page = Page(
        title="What the runs say",
        lead="Every experiment with its question, the rule for its verdict, and what came out.",
        verdict=(f"{len(rows)} claims: {counts}.",),
        what=(ledger.summary(), KEY.replace("`", "").replace("*", "")),
        sections=tuple(
            _section(experiment, results, [row for row in rows if row["experiment"] == experiment.name])
            for experiment, results in ledger.found
        ),
        command=command,
    )
    return render(page)


def _section(experiment: Experiment, results: Results, rows: Sequence[dict[str, Any]]) -> Section:
    return Section(
        name=experiment.name,
        title=f"{experiment.title} ({experiment.name})",
        text=(experiment.question,),
        header=("claim", "verdict", "measured"),
        rows=tuple(_cells(row) for row in rows),
        pictures=tuple(_pictures(experiment, results)),
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    """The statement with what the paper reports, the verdict, and what was measured with how it was decided."""
    reported = f"\nThe paper: {row['reported']}." if row["reported"] else ""
    q = f" FDR q = {row['q']:.2g}." if row["q"] is not None else ""
    decided = f"Test: {row['test']}.{q}\nRule: {row['rule']}"
    return row["statement"] + reported, row["verdict"], f"{row['measured']}\n\n{decided}"


def _pictures(experiment: Experiment, results: Results) -> list[Picture]:
    told = outcomes(curves_from(results))
    pictures = []
    for drawn in drawn_pictures(experiment, results):
        width, height = map(float, drawn.figure.get_size_inches())
        shown = "; ".join(f"{arm}: {outcome}" for arm, outcome in told.items() if arm.startswith(drawn.part))
        pictures.append(
            Picture(
                name=f"{experiment.name}-{drawn.file}",
                title=drawn.name.replace("-", " ").capitalize() + (f", {drawn.part}" if drawn.part else ""),
                caption=drawn.caption,
                alt=shown,
                width=width,
                height=height,
                small=small_picture(drawn.figure),
            )
        )
    return pictures


def small_picture(figure: Figure) -> bytes:
    """WebP with few colours and without loss: half the size of PNG."""
    from PIL import Image

    packed = io.BytesIO()
    with Image.open(io.BytesIO(to_file(figure, "png", dpi=DPI))) as picture:
        few = picture.convert("RGB").quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        few.convert("RGB").save(packed, format="WEBP", lossless=True, quality=75, method=4)
    return packed.getvalue()
