"""One self-contained HTML page about a set of runs: plain data in, a string out. It fetches nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ..analysis import unreached_word
from ..figures.panels import MOST_LINES
from ..figures.style import plain_looks
from ..pages import environment
from .charts import dashes_of
from .pictures import Picture

Entry = tuple[str, str, list[tuple[str, str]]]
"""Anchor and title of a section, and of what is in it."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row of the table of settings."""

    name: str
    """Dotted name, e.g. task.p."""
    value: str
    """Its value; where arms differ, all of them."""
    meaning: str = ""
    """One line in plain words."""


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """One row of the table of runs. None means not reached, or unknown."""

    id: str
    """The run's id, as `grokscope show` takes it."""
    arm: str
    """The condition it belongs to."""
    seed: int
    """Its repetition."""
    status: str
    """running, stopped, done, grokked or diverged."""
    epochs: int
    """Epochs trained."""
    t_mem: int | None = None
    """Epoch of memorisation."""
    t_grok: int | None = None
    """Epoch of grokking."""
    train_accuracy: str = "–"
    """At the last evaluation."""
    test_accuracy: str = "–"
    """At the last evaluation."""
    seconds: float | None = None
    """Wall time of training."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of a page: paragraphs, a table, figures."""

    name: str
    """Anchor for links."""
    title: str
    """Headline."""
    text: tuple[str, ...] = ()
    """Paragraphs of text."""
    header: tuple[str, ...] = ()
    """Names of the table's columns."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Rows of the table; the first cell names the row."""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of a page. Text is plain text: HTML in it is escaped."""

    title: str
    """Headline."""
    lead: str = ""
    """One sentence under the headline, e.g. the question."""
    verdict: tuple[str, ...] = ()
    """Results, one string per paragraph."""
    opening: Picture | None = None
    """A picture above everything else."""
    what: tuple[str, ...] = ()
    """What was run, with its sizes, one string per paragraph."""
    arms: tuple[tuple[str, str], ...] = ()
    """Each arm and what it means, in the order of the pictures (which decides its colour)."""
    settings: tuple[Setting, ...] = ()
    """The settings, arms' differences included."""
    pictures: tuple[Picture, ...] = ()
    """See `standard_pictures`."""
    of_seeds: bool = True
    """Whether line charts show runs of several seeds, which a note above the pictures explains."""
    pictures_note: str = ""
    """What the pictures leave out, and how to see it."""
    sections: tuple[Section, ...] = ()
    """What comes between the pictures and the table of runs."""
    runs: tuple[RunRow, ...] = ()
    """The runs of the page, or the first of them."""
    runs_note: str = ""
    """Which runs the table leaves out, and how to see them."""
    score: str = "accuracy"
    """What the table of runs shows as such: accuracy, or R²."""
    memorised: str = ""
    """What counts as memorised, e.g. train accuracy ≥ 99 %, held 100 epochs; shown above the table of runs."""
    grokked: str = ""
    """What counts as grokked."""
    command: str
    """The exact command that reproduces this page."""
    versions: tuple[tuple[str, str], ...] = ()
    """Programs, device and their versions."""

    @property
    def outline(self) -> list[Entry]:
        """The contents of the page: anchor and title of each section, with those of its pictures."""
        entries: list[Entry] = []
        if self.what or self.arms or self.settings:
            entries.append(("what", "What was run", []))
        if self.pictures:
            entries.append(("pictures", "Pictures", _links(self.pictures)))
        entries += [(section.name, section.title, _links(section.pictures)) for section in self.sections]
        if self.runs:
            entries.append(("runs", "Runs", []))
        return [*entries, ("again", "Do it again", [])]


def _links(pictures: Sequence[Picture]) -> list[tuple[str, str]]:
    return [(picture.anchor, picture.title) for picture in pictures]


def render(page: Page) -> str:
    """The page as HTML."""
    templates = environment()
    templates.filters |= {"count": _count, "seconds": _seconds}
    templates.globals |= {"epoch": _epoch}
    pictures = chain(page.pictures, *(section.pictures for section in page.sections))
    return templates.get_template("report/page.html.j2").render(
        page=page,
        title=page.title,
        looks=plain_looks([name for name, _ in page.arms]),
        dashes=dashes_of,
        most_lines=MOST_LINES,
        charts=any(picture.chart for picture in pictures),
        more_styles=(),
        more_scripts=(),
    )


def _count(value: int) -> str:
    return f"{value:,}"


def _epoch(value: int | None, run: RunRow) -> str:
    return unreached_word(run.status) if value is None else f"{value:,}"


def _seconds(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:,.1f}"
