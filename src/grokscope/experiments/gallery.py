"""The gallery: one offline page with every experiment's question, verdicts and pictures, rebuilt from stored results."""

from __future__ import annotations

from pathlib import Path

from ..figures import outcomes
from ..report import Page, Picture, Section, picture_of, render
from ..store.results import Results, load_results
from .base import Experiment, all_experiments
from .collect import curves_from
from .ledger import figures, rulings

WORDS = {
    "holds": "hold",
    "holds only when": "hold only under a condition",
    "does not hold": "do not hold",
    "not decided": "are not decided",
}


def gallery(folder: Path, scale: str, command: str) -> str:
    """The page as HTML."""
    found = [(e, r) for e in all_experiments().values() if (r := load_results(folder, e.name, scale)) is not None]
    steps = sum(results.about["run_steps"] for _, results in found)
    seconds = sum(results.about["seconds"] for _, results in found)
    verdicts = [row["verdict"] for e, r in found for row in rulings(e, r)]
    counted = {words: sum(v.startswith(verdict) for v in verdicts) for verdict, words in WORDS.items()}
    counted["hold"] -= counted["hold only under a condition"]
    counts = ", ".join(f"{count} {words}" for words, count in counted.items())
    page = Page(
        title="What holds",
        lead="Every experiment with its question, the rule for its verdict, and what came out.",
        verdict=(f"{len(verdicts)} claims: {counts}.",),
        what=(
            f"{len(found)} experiments at {scale} size, {steps:,} training steps of single runs in {seconds:,.0f} seconds.",
        ),
        sections=tuple(_section(experiment, results) for experiment, results in found),
        command=command,
    )
    return render(page)


def _section(experiment: Experiment, results: Results) -> Section:
    rows = rulings(experiment, results)
    return Section(
        name=experiment.name,
        title=f"{experiment.title} ({experiment.name})",
        text=(experiment.question,),
        header=("claim", "verdict", "measured", "rule"),
        rows=tuple((row["statement"], row["verdict"], row["measured"], row["rule"]) for row in rows),
        pictures=tuple(_pictures(experiment, results)),
    )


def _pictures(experiment: Experiment, results: Results) -> list[Picture]:
    curves = curves_from(results)
    alt = "; ".join(f"{arm}: {outcome}" for arm, outcome in outcomes(curves).items())
    return [
        picture_of(figure, f"{experiment.name}-{name}", f"{experiment.title}: {name}", experiment.question, alt)
        for name, figure in figures(experiment, results)
    ]
