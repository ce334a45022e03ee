"""The gallery: one offline page with every claim as a card, the ledger as a table, and the pictures, rebuilt from stored results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ..figures import outcomes
from ..pages import environment, figure_csv, figure_svg
from ..report import Picture
from ..store.results import Results
from .base import PAPERS, VERDICTS, Experiment
from .cards import MARKS, card
from .clauses import KEY
from .collect import curves_from
from .drawing import drawn_pictures
from .ledger import Ledger

TITLE = "What the runs say"


class ShownExperiment(NamedTuple):
    """One experiment on the page."""

    name: str
    title: str
    question: str
    cards: list[Markup]
    pictures: list[Picture]


class ShownPaper(NamedTuple):
    """The experiments of a paper."""

    name: str
    title: str
    experiments: list[ShownExperiment]

    @property
    def anchor(self) -> str:
        return f"paper-{self.name}"


def gallery(ledger: Ledger, rows: Sequence[dict[str, Any]], command: str) -> str:
    """The page as HTML; `rows` are the ledger's."""
    templates = environment()
    templates.filters["short"] = lambda value: "" if value is None else f"{value:.2g}"
    papers: dict[str, ShownPaper] = {}
    for experiment, results in ledger.found:
        paper = papers.setdefault(experiment.paper, ShownPaper(experiment.paper, paper_title(experiment.paper), []))
        own = [row for row in rows if row["experiment"] == experiment.name]
        paper.experiments.append(
            ShownExperiment(
                experiment.name,
                experiment.title,
                experiment.question,
                [Markup(card(row)) for row in own],
                list(_pictures(experiment, results)),
            )
        )
    return templates.get_template("experiments/gallery.html.j2").render(
        title=TITLE,
        summary=ledger.summary(),
        counts=Markup(counts_table(rows)),
        rows=rows,
        papers=list(papers.values()),
        verdicts=VERDICTS,
        marks=MARKS,
        order={verdict: number for number, verdict in enumerate(VERDICTS)},
        key=KEY.replace("`", "").replace("*", ""),
        command=command,
        charts=False,
        more_styles=["cards.css"],
        more_scripts=["filter.js"],
    )


def paper_title(name: str) -> str:
    """structural-inference → Structural inference"""
    return name.replace("-", " ").capitalize()


def counts_table(rows: Sequence[dict[str, Any]]) -> str:
    """Verdicts by paper, as HTML. A page that contains it counts the claims as the ledger does."""
    names = sorted({row["paper"] for row in rows}, key=lambda name: (PAPERS.index(name) if name in PAPERS else 9, name))
    counted = [(name, paper_title(name), Counter(r["verdict"] for r in rows if r["paper"] == name)) for name in names]
    counted.append(("", "All", Counter(row["verdict"] for row in rows)))
    template = environment().get_template("experiments/counts.html.j2")
    return template.render(counted=counted, verdicts=VERDICTS, marks=MARKS)


def _pictures(experiment: Experiment, results: Results) -> Iterator[Picture]:
    reached = outcomes(curves_from(results))
    for drawn in drawn_pictures(experiment, results):
        for ax in drawn.figure.axes:  # the median and the range of the seeds are enough on a page with many pictures
            for line in [line for line in ax.lines if line.get_gid() == "seed"]:
                line.remove()
        width, height = map(float, drawn.figure.get_size_inches())
        shown = "; ".join(f"{arm}: {outcome}" for arm, outcome in reached.items() if arm.startswith(drawn.part))
        yield Picture(
            name=f"{experiment.name}-{drawn.file}",
            title=drawn.name.replace("-", " ").capitalize() + (f", {drawn.part}" if drawn.part else ""),
            caption=drawn.caption,
            alt=shown,
            width=width,
            height=height,
            svg=figure_svg(drawn.figure),
            csv=figure_csv(drawn.figure),
        )
