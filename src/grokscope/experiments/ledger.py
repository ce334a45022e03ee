"""The ledger of claims and the pictures, rebuilt from stored results: nothing here trains, nothing is typed by hand."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..analysis.times import RATIO_THRESHOLD
from ..figures import save
from ..figures.painters import painters
from ..store.results import Results, load_results
from .base import Experiment, Ruling, Scale, all_experiments
from .clauses import KEY, NotRunError
from .collect import criterion_of, curves_from, training_totals

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Shelf(NamedTuple):
    """What is stored at one scale."""

    scale: Scale
    found: list[tuple[Experiment, Results]]
    """In the order of the experiments."""
    older: list[str]
    """Experiments whose stored results have other arms than they have now; they are left out until they are run again."""

    def rows(self) -> list[dict[str, Any]]:
        """Every claim."""
        return [row for experiment, results in self.found for row in rulings(experiment, results)]

    def totals(self) -> dict[str, Any]:
        """Distinct runs, their optimizer steps and the seconds of these: a run that several experiments share counts once."""
        return training_totals(pd.concat([results.runs for _, results in self.found]))

    def summary(self) -> str:
        """How much stands behind the claims, in one sentence."""
        total = self.totals()
        devices = ", ".join(dict.fromkeys(results.about["device"] for _, results in self.found))
        return (
            f"{len(self.found)} experiments at {self.scale} size: {total['runs']:,} runs, {total['run_steps']:,} optimizer steps "
            f"in {total['seconds']:,.0f} seconds of training on {devices}."
        )

    def criteria(self) -> str:
        """By which criterion the times were found, in one sentence; experiments that differ from the others are named."""
        used: dict[str, list[str]] = {}
        for experiment, results in self.found:
            used.setdefault(criterion_of(results).describe(), []).append(experiment.name)
        common = max(used, key=lambda words: len(used[words]))
        others = (f"; in {', '.join(names)}: {words}" for words, names in used.items() if words != common)
        return (
            f"Time of grokking: {common}{''.join(others)}. t_gen and τ_grok: the same at {100 * RATIO_THRESHOLD:.0f} %."
        )


def load_shelf(folder: Path, scale: Scale) -> Shelf:
    """The stored results of all experiments at one scale."""
    shelf = Shelf(scale, [], [])
    for experiment in all_experiments().values():
        results = load_results(folder, experiment.name, scale)
        if results is not None and fits(experiment, results):
            shelf.found.append((experiment, results))
        elif results is not None:
            shelf.older.append(experiment.name)
    return shelf


def fits(experiment: Experiment, results: Results) -> bool:
    """Whether stored results are of this experiment as it is now."""
    same = set(results.runs["arm"]) == set(experiment.arms_at(results.about["scale"]))
    return (
        same
        and (not experiment.priced or "seconds_alone" in results.runs)
        and set(experiment.probes) <= set(results.probes)
    )


def rulings(experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    """One row a claim."""
    rows = []
    for claim in experiment.claims:
        try:
            ruling = claim.ruling(results)
        except NotRunError:
            ruling = Ruling(verdict="not decided", measured=f"not run at {results.about['scale']} size", test="none")
        rows.append(
            {
                "paper": experiment.paper,
                "experiment": experiment.name,
                "claim": claim.name,
                "statement": claim.statement,
                "reported": claim.reported,
                "rule": claim.rule,
                "verdict": ruling.verdict + (f" {ruling.when}" if ruling.when else ""),
                "measured": ruling.measured,
                "test": ruling.test,
                "scale": results.about["scale"],
                "runs": len(results.runs),
                "never": int(results.runs["t_grok"].isna().sum()),
                "numbers": dict(ruling.numbers),
            }
        )
    return rows


def draw(wanted: Iterable[tuple[Experiment, Results, Path]]) -> list[Path]:
    """The pictures of experiments as SVG and PNG in the folder of each; their paths without the endings."""
    asked = list(wanted)
    with painters(sum(len(experiment.pictures) + len(experiment.plots) for experiment, *_ in asked)) as hands:
        begun = {
            (stem := folder / f"{experiment.name}-{drawn.file}"): hands.submit(save, drawn.figure, stem)
            for experiment, results, folder in asked
            for drawn in figures(experiment, results)
        }
        for picture in begun.values():
            picture.result()  # raises what went wrong
    return list(begun)


class PrunedInit(NamedTuple):
    """A picture of an experiment."""

    name: str
    figure: Figure
    caption: str
    """What it shows."""
    part: str = ""
    """Of which part of the arms, if not of all."""

    @property
    def file(self) -> str:
        """times of the part q = 16 → times-q-16"""
        return "-".join([self.name, *re.findall(r"\w+", self.part)])


def figures(experiment: Experiment, results: Results) -> Iterator[PrunedInit]:
    """Every picture of an experiment."""
    curves = curves_from(results)
    for name, picture in experiment.pictures.items():
        if not experiment.parts:
            yield PrunedInit(name, picture(curves), _caption(picture))
        for part in experiment.parts:
            own = [replace(c, arm=c.arm.removeprefix(f"{part}, ")) for c in curves if c.arm.startswith(f"{part}, ")]
            if own:
                yield PrunedInit(name, picture(own), _caption(picture), part)
    for name, plot in experiment.plots.items():
        yield PrunedInit(name, plot(results), _caption(plot))


def _caption(picture: Callable[..., Any]) -> str:
    """The first paragraph of what the drawing function says of itself."""
    said = inspect.getdoc(getattr(picture, "func", picture)) or ""
    return " ".join(said.split("\n\n")[0].split())


def as_markdown(shelf: Shelf, rows: Sequence[dict[str, Any]]) -> str:
    """docs/claims.md"""
    lines = [
        "# Claims",
        "",
        "Rebuilt from `results/` by `grokscope claims --markdown`; nothing here is typed by hand. [Pictures](gallery.html).",
        "",
        shelf.summary(),
        "",
        shelf.criteria(),
        "",
        KEY,
        "",
        "*Holds only when*: in the cases named, and not (or not decided) in the others. *Not decided*: the test does not tell.",
        "",
        "| experiment | claim | verdict | measured | test | rule | runs (never grokked) |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (
            f"`{row['experiment']}`",
            row["statement"] + (f" (The paper: {row['reported']}.)" if row["reported"] else ""),
            f"**{row['verdict']}**",
            row["measured"].replace("\n", "<br>"),
            row["test"],
            row["rule"],
            f"{row['runs']} ({row['never']})",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
