"""The ledger of claims and the pictures, rebuilt from stored results: nothing here trains, nothing is typed by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..figures import save
from ..store.results import Results, load_results
from .base import Experiment, all_experiments
from .collect import curves_from

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def rulings(experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    """One row a claim."""
    rows = []
    for claim in experiment.claims:
        ruling = claim.ruling(results)
        rows.append(
            {
                "paper": experiment.paper,
                "experiment": experiment.name,
                "claim": claim.name,
                "statement": claim.statement,
                "rule": claim.rule,
                "verdict": ruling.verdict + (f" {ruling.when}" if ruling.when else ""),
                "measured": ruling.measured,
                "scale": results.about["scale"],
                "runs": len(results.runs),
                "never": int(results.runs["t_grok"].isna().sum()),
                "numbers": dict(ruling.numbers),
            }
        )
    return rows


def ledger(folder: Path, scale: str = "full") -> list[dict[str, Any]]:
    """Every claim with stored results, in the order of the experiments."""
    rows = []
    for experiment in all_experiments().values():
        results = load_results(folder, experiment.name, scale)
        if results is not None:
            rows += rulings(experiment, results)
    return rows


def draw(experiment: Experiment, results: Results, folder: Path) -> list[Path]:
    """The experiment's pictures as SVG and PNG."""
    stems = []
    for name, figure in figures(experiment, results):
        stem = folder / f"{experiment.name}-{name}"
        save(figure, stem)
        stems.append(stem)
    return stems


def figures(experiment: Experiment, results: Results) -> Iterator[tuple[str, Figure]]:
    """Every picture of an experiment, by its name."""
    curves = curves_from(results)
    for name, picture in experiment.pictures.items():
        yield name, picture(curves)
    for name, plot in experiment.plots.items():
        yield name, plot(results)


def draw_all(folder: Path, scale: str, target: Path) -> None:
    """Every picture of every experiment with stored results."""
    for experiment in all_experiments().values():
        results = load_results(folder, experiment.name, scale)
        if results is not None:
            draw(experiment, results, target)


def as_markdown(rows: Iterable[dict[str, Any]]) -> str:
    """docs/claims.md"""
    lines = [
        "# Claims",
        "",
        "Rebuilt from `results/` by `grokscope claims --markdown`; nothing here is typed by hand.",
        "",
        "| experiment | claim | verdict | measured | rule | runs (never grokked) |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (
            f"`{row['experiment']}`",
            row["statement"],
            f"**{row['verdict']}**",
            row["measured"],
            row["rule"],
            f"{row['runs']} ({row['never']})",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
