"""The ledger of claims and the pictures, rebuilt from stored results without training."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..analysis.times import RATIO_THRESHOLD
from ..errors import StoreError
from ..figures import figures, save
from ..figures.parallel import executor_for
from ..figures.registry import summary
from ..store.results import Results, load_results
from .base import Experiment, Ruling, Scale, all_experiments
from .clauses import KEY, NotRunError
from .collect import criterion_of, curves_from, training_totals

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Ledger(NamedTuple):
    """The stored results of all experiments at one scale."""

    scale: Scale
    found: list[tuple[Experiment, Results]]
    """In the order of the experiments."""
    stale: list[str]
    """Experiments whose stored results are of other arms or probes than they have now; omitted until they are run again."""
    damaged: dict[str, str] = MappingProxyType({})  # type: ignore[assignment]
    """What is wrong with stored results that cannot be read, by experiment; they are omitted."""

    def rows(self) -> list[dict[str, Any]]:
        """Every claim."""
        return [row for experiment, results in self.found for row in rulings(experiment, results)]

    def totals(self) -> dict[str, Any]:
        """Distinct runs, their optimizer steps, and the seconds of these; a run shared by several experiments counts once."""
        return training_totals(pd.concat([results.runs for _, results in self.found]))

    def summary(self) -> str:
        """How many runs and steps the claims rest on, in one sentence."""
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


def load_ledger(folder: Path, scale: Scale) -> Ledger:
    """Read the stored results of all experiments at one scale. Those that cannot be read do not hide the others."""
    ledger = Ledger(scale, [], [], {})
    for experiment in all_experiments().values():
        try:
            results = load_results(folder, experiment.name, scale)
        except StoreError as error:
            ledger.damaged[experiment.name] = str(error)
            continue
        if results is not None and fits(experiment, results):
            ledger.found.append((experiment, results))
        elif results is not None:
            ledger.stale.append(experiment.name)
    return ledger


def fits(experiment: Experiment, results: Results) -> bool:
    """Whether stored results belong to this experiment as it is now: same arms, all its probes and prices."""
    if not {"arm", "t_grok"} <= set(results.runs.columns):
        return False
    same = set(results.runs["arm"]) == set(experiment.arms_at(results.about["scale"]))
    return (
        same
        and (not experiment.priced or "seconds_alone" in results.runs)
        and set(experiment.probes) <= set(results.probes)
    )


def rulings(experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    """One row per claim."""
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
    """Write the pictures of experiments as SVG and PNG into the folder of each; returns their paths without the endings."""
    asked = list(wanted)
    with executor_for(sum(len(experiment.pictures) for experiment, *_ in asked)) as executor:
        begun = {
            (stem := folder / f"{experiment.name}-{drawn.file}"): executor.submit(save, drawn.figure, stem)
            for experiment, results, folder in asked
            for drawn in drawn_pictures(experiment, results)
        }
        for picture in begun.values():
            picture.result()  # raises what went wrong
    return list(begun)


class DrawnPicture(NamedTuple):
    """One picture of an experiment."""

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


def drawn_pictures(experiment: Experiment, results: Results) -> Iterator[DrawnPicture]:
    """Every picture of an experiment; what is drawn from runs, for each of its parts."""
    curves = curves_from(results)
    for name, picture in experiment.pictures.items():
        spec = figures.spec(picture) if isinstance(picture, str) else figures.spec_of(picture)
        draw = figures.get(picture) if isinstance(picture, str) else picture
        caption = summary(getattr(draw, "func", draw))
        if spec is not None and spec.takes == "results":
            yield DrawnPicture(name, draw(results), caption)
            continue
        if not experiment.parts:
            yield DrawnPicture(name, draw(curves), caption)
        for part in experiment.parts:
            own = [replace(c, arm=c.arm.removeprefix(f"{part}, ")) for c in curves if c.arm.startswith(f"{part}, ")]
            if own:
                yield DrawnPicture(name, draw(own), caption, part)


def as_markdown(ledger: Ledger, rows: Sequence[dict[str, Any]]) -> str:
    """docs/claims.md"""
    lines = [
        "# Claims",
        "",
        "Rebuilt from `results/` by `grokscope claims --markdown`; nothing here is typed by hand. [Pictures](gallery.html).",
        "",
        ledger.summary(),
        "",
        ledger.criteria(),
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
