"""The ledger of claims and the pictures, rebuilt from stored results: nothing here trains, nothing is typed by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..figures import save
from ..store.results import Results, load_results
from .base import Experiment, all_experiments
from .collect import curves_from


def rulings(experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    """One row a claim."""
    rows = []
    for claim in experiment.claims:
        ruling = claim.judge(results.runs)
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
    curves = curves_from(results)
    stems = []
    for name, picture in experiment.pictures.items():
        stem = folder / f"{experiment.name}-{name}"
        save(picture(curves), stem)
        stems.append(stem)
    return stems


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
