"""The gallery: one offline page with the ledger as a table, every claim as a card, and the pictures, from stored results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from ..figures import outcomes
from ..figures.captions import full_caption
from ..figures.curves import SEED
from ..pages import environment, figure_data, figure_svg
from ..report import Picture, chart_of
from ..store.results import Results
from .base import VERDICTS, Experiment
from .cards import card, counts_table, ledger_row, paper_title
from .clauses import KEY
from .collect import curves_from
from .drawing import drawn_pictures, of_part
from .ledger import Ledger

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    return (
        environment()
        .get_template("experiments/gallery.html.j2")
        .render(
            title=TITLE,
            summary=ledger.summary(),
            counts=Markup(counts_table(rows)),
            ledger=[Markup(ledger_row(row)) for row in rows],
            papers=list(papers.values()),
            verdicts=VERDICTS,
            key=KEY.replace("`", "").replace("*", ""),
            command=command,
            charts=True,
            more_styles=["cards.css"],
            more_scripts=["filter.js"],
        )
    )


def without_seeds(figure: Figure) -> None:
    """Remove the lines of single seeds: their median and middle half are enough on a page with many pictures."""
    for line in [line for ax in figure.axes for line in ax.lines if line.get_gid() == SEED]:
        line.remove()


def _pictures(experiment: Experiment, results: Results) -> Iterator[Picture]:
    reached = outcomes(curves_from(results))
    for drawn in drawn_pictures(experiment, results):
        without_seeds(drawn.figure)
        width, height = map(float, drawn.figure.get_size_inches())
        chart = chart_of(drawn.kind, drawn.curves, medians=True)
        shown = "; ".join(f"{arm}: {outcome}" for arm, outcome in reached.items() if of_part(arm, drawn.part))
        yield Picture(
            name=f"{experiment.name}-{drawn.file}",
            title=drawn.title + (f", {drawn.part}" if drawn.part else ""),
            caption=full_caption(drawn.caption, drawn.figure),
            alt=shown,
            width=width,
            height=height,
            svg=figure_svg(drawn.figure),
            data=figure_data(drawn.figure),
            on_demand=chart.chart if chart else None,
            lazy=True,
        )
