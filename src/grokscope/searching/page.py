"""The page of a search: verdict, picture, and the tournament as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..report.page import Page, Section, Setting, render
from ..report.runs import save_picture
from ..report.settings import read_settings, settings_table, versions
from ..settings import flatten
from ..store import read_run, save_file
from ..store.tournaments import tournament_folder
from .candidates import name_of
from .picture import picture_of
from .tournament import Entry, Tournament, rival_cells

LISTED = 100
"""Most candidates in the table; the file tournament.json has all."""


def write_page(tournament: Tournament, runs: Path, command: str) -> Path:
    """Write index.html and the picture into the folder of the search; returns the path of the page."""
    picture = picture_of(tournament, runs)
    first = tournament.winner or next(iter(tournament.entries))
    run = read_run(runs / tournament.entries[first].run)
    own = [Setting(name=f"search.{name}", value=_word(value)) for name, value in flatten(tournament.settings).items()]
    page = Page(
        title="Which tokens matter?",
        lead="A race of hypotheses: each candidate names some tokens, and is judged on examples it was not trained on.",
        verdict=(tournament.verdict(), *_outcome(tournament)),
        what=_what(tournament),
        settings=(*own, *settings_table(read_settings([run]))),
        pictures=(picture,),
        of_seeds=False,
        sections=(_table(tournament), *_rivals(tournament)),
        command=command,
        versions=tuple(versions(run.manifest)),
    )
    folder = tournament_folder(runs, tournament.id)
    save_picture(folder, picture)
    return save_file(folder / "index.html", render(page))


def _outcome(tournament: Tournament) -> list[str]:
    found = tournament.outcome
    if not found:
        return []
    line = f"The best candidate was trained to epoch {found['epoch']:,}; its test accuracy is {found['test_accuracy']:.1%}."
    if found["generalised_epoch"] is None:
        return [f"{line} The whole search took {tournament.run_steps:,} run-steps."]
    return [
        f"{line} It passed 99 % at epoch {found['generalised_epoch']:,}: {found['generalised_run_steps']:,} run-steps, "
        "those of all candidates included."
    ]


def _what(tournament: Tournament) -> tuple[str, ...]:
    test = tournament.confirmation
    level = "" if not test else f" at level {test['level']:g}"
    return (
        "Candidates are compared by their calibrated loss on validation examples, which are taken from the training set. The "
        f"winner is tested once, by a permutation test{level}, on confirmation examples that no choice has seen. "
        "Found means that it generalises to them, not that it has no token too many or too few. Test examples decide nothing: test "
        "accuracy is read after the end.",
        f"The cost counts every step of every candidate: {tournament.run_steps:,} run-steps in total; the budget until the "
        f"decision was {tournament.budget:,}.",
    )


def _table(tournament: Tournament) -> Section:
    def place(entry: Entry) -> tuple[Any, ...]:
        last = list(entry.standings.values())[-1].loss if entry.standings else float("inf")
        return entry.units != tournament.winner, -(entry.dropped or 0), last

    rows = []
    for entry in sorted(tournament.entries.values(), key=place)[:LISTED]:
        last = list(entry.standings.values())[-1] if entry.standings else None
        dropped = "" if entry.dropped is None else f"epoch {entry.dropped:,}: {entry.why}"
        numbers = ("–", "–") if last is None else (f"{last.loss:.3f}", f"{last.accuracy:.1%}")
        fate = "the winner" if entry.units == tournament.winner else dropped
        rows.append((name_of(tournament.family, entry.units), *numbers, f"{entry.run_steps:,}", fate))
    count = len(tournament.entries)
    note = (f"The first {LISTED} of {count:,} candidates; tournament.json has all.",) if count > LISTED else ()
    return Section(
        name="tournament",
        title="Tournament",
        text=note,
        header=("candidate", "calibrated loss", "held-out accuracy", "run-steps", "dropped"),
        rows=tuple(rows),
    )


def _rivals(tournament: Tournament) -> list[Section]:
    if not tournament.rivals:
        return []
    header = ("method", "support", "run-steps", "run-steps to 99 % test accuracy", "test accuracy", "note")
    text = ("All methods have the same splits, and a budget of as many run-steps as the search may take.",)
    return [
        Section(
            name="rivals", title="Rivals", text=text, header=header, rows=tuple(map(rival_cells, tournament.rivals))
        )
    ]


def _word(value: Any) -> str:
    return "–" if value in (None, "", 0) else str(value)
