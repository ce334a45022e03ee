"""The ledger of claims and the pictures, rebuilt from stored results without training."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..analysis.times import RATIO_THRESHOLD
from ..errors import StoreError
from ..figures import figures, save
from ..figures.panels import wrapped
from ..figures.parallel import executor_for
from ..figures.registry import summary
from ..figures.style import SMALL
from ..store.results import Results, load_results
from . import diverged
from .base import Claim, Experiment, Ruling, Scale, all_experiments
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
    arms = {*results.runs["arm"], *results.about.get(diverged.NOT_TRAINED, [])}
    same = arms == set(experiment.arms_at(results.about["scale"]))
    return (
        same
        and (not experiment.priced or "seconds_alone" in results.runs)
        and set(experiment.probes) <= set(results.probes)
    )


def rulings(experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    """One row per claim."""
    rows = []
    note = diverged.note(results)
    for claim in experiment.claims:
        ruling = _ruling(claim, results, note)
        rows.append(
            {
                "paper": experiment.paper,
                "experiment": experiment.name,
                "claim": claim.name,
                "statement": claim.statement,
                "reported": claim.reported,
                "rule": claim.rule,
                "verdict": ruling.verdict + (f" {ruling.when}" if ruling.when else ""),
                "measured": f"{ruling.measured}\n{note}" if note and note not in ruling.measured else ruling.measured,
                "test": ruling.test,
                "scale": results.about["scale"],
                "runs": len(results.runs),
                "never": int(results.runs["t_grok"].isna().sum()),
                "numbers": dict(ruling.numbers),
            }
        )
    return rows


def _ruling(claim: Claim, results: Results, note: str) -> Ruling:
    """The verdict; "not decided", with the reason, where an arm was not run or diverged runs leave the rule without numbers."""
    try:
        return claim.ruling(results)
    except NotRunError:
        reason = note or f"not run at {results.about['scale']} size"
    except Exception as error:  # rules are code of many kinds: what they do without their numbers is not known here
        if not note:
            raise
        reason = f"the rule cannot be applied ({type(error).__name__}); {note}"
    return Ruling(verdict="not decided", measured=reason, test="none")


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
    curves, note = curves_from(results), diverged.note(results)
    for name, picture in experiment.pictures.items():
        spec = figures.spec(picture) if isinstance(picture, str) else figures.spec_of(picture)
        draw = figures.get(picture) if isinstance(picture, str) else picture
        caption = summary(getattr(draw, "func", draw))
        of_results = spec is not None and spec.takes == "results"
        data: dict[str, Any] = {"": results if of_results else curves}
        if experiment.parts and not of_results:
            data = {
                part: [replace(c, arm=c.arm.removeprefix(f"{part}, ")) for c in curves if c.arm.startswith(f"{part}, ")]
                for part in experiment.parts
            }
        for part, own in data.items():
            if own and (figure := _drawn(draw, own, f"{experiment.name}: picture {name}", note)) is not None:
                yield DrawnPicture(name, figure, f"{caption} {note[0].upper()}{note[1:]}." if note else caption, part)


def _drawn(draw: Callable[[Any], Figure], data: Any, name: str, note: str) -> Figure | None:
    """The figure, with a line about diverged runs below it; None, and a line on stderr, where they leave nothing to draw."""
    try:
        figure = draw(data)
    except Exception as error:  # as for rules
        if not note:
            raise
        print(f"{name} was not drawn ({type(error).__name__}); {note}", file=sys.stderr)
        return None
    if note:
        _add_note(figure, wrapped(note, 110))
    return figure


def _add_note(figure: Figure, text: str) -> None:
    """A line in a strip of its own above the panels."""
    width, height = figure.get_size_inches()
    taller = height + (1 + text.count("\n")) * 1.5 * SMALL / 72
    figure.set_size_inches(width, taller)
    if engine := figure.get_layout_engine():
        engine.set(rect=(0, 0, 1, height / taller))  # type: ignore[call-arg]
    figure.text(0.01, 0.995, text, size=SMALL, va="top", gid="diverged")


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
