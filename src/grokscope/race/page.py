"""The page of the race: protocol, positive controls, and a leaderboard per track; as Markdown and as a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..report import Page, Picture, Section, render
from .board import Board, board_of
from .methods.base import accelerators
from .tracks.base import SIZES, Scale, tracks
from .words import HEADER, cells

if TYPE_CHECKING:
    from collections.abc import Callable

LEAD = "Accelerators of grokking under equal budgets: the same number of draws for each, scored on seeds that no choice has seen."

PROTOCOL = (
    "**Budget.** Each method has {draws} log-uniform draws of its settings, made once and for all from a fixed seed. All draws "
    "train on one tuning seed, and a method's heat ends when {finalists} of its draws have reached 99 % test accuracy; the "
    "earliest {finalists} train on {more} more tuning seeds, at most four times as long as they took in the heat. The draw that"
    " reaches 99 % with the most tuning seeds is chosen, among several the one with the smallest geometric mean of the steps. "
    "Draws that diverge are dropped, and from half of the horizon on those whose train accuracy is below 50 %. Ranges are the same "
    "on all tracks; where a chosen value lies at the edge of one, which the last column says, the method may do better beyond it.",
    "**Score.** The chosen settings train on {seeds} fresh seeds: other data, other initial weights. *Steps to 99 %* is the "
    "first crossing, *stable* the step from which 99 % is never lost again, known for runs that trained on for as long again. "
    "Medians have exact 95 % intervals, in which runs that never reach count as latest. *Seconds* are those of a run that has "
    "the device to itself. *Operations* are those of the matrix products, forward, backward and update. *Ratio* is paired by "
    "seed, over seeds in which both reach. The search counts the steps of all its candidates; its seconds and operations are "
    "priced as AdamW's.",
)

ABSENT = (
    "Not in the race: GrokTransfer (arXiv 2504.13292), which begins from the embedding of a smaller network that is trained "
    "first, while a run here takes weights only from one of its own shape; and parameter swapping (arXiv 2608.01833), of which "
    "we have no recipe to make a positive control from."
)


def protocol(scale: Scale) -> tuple[str, ...]:
    sizes = SIZES[scale]
    words = {"draws": sizes.draws, "finalists": sizes.finalists, "more": sizes.tuning - 1, "seeds": sizes.seeds}
    return tuple(text.format(**words) for text in PROTOCOL)


def boards(results: Path, scale: Scale, names: Sequence[str] = ()) -> list[Board]:
    """The stored leaderboards, by track."""
    wanted = names or sorted(tracks.entries())
    return [board for name in wanted if (board := board_of(tracks.get(name)(), results, scale)) is not None]


def excluded_text(board: Board) -> str:
    """Which methods do not apply, and why, in one paragraph."""
    if not board.excluded:
        return ""
    reasons = "; ".join(f"{accelerators.get(name).title} ({why})" for name, why in board.excluded.items())
    return f"Not applicable: {reasons}."


def controls_rows(cases: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Method, what is reported, what was measured, verdict; methods without a control say why.

    cases   of the claims of race-controls, as the ledger has them
    """
    found = {case["name"]: case for case in cases}
    rows: list[tuple[str, ...]] = []
    for _, cls in sorted(accelerators.entries().items()):
        case, control = found.get(cls.title), cls.control
        if control is None:
            rows.append((cls.title, "–", "–", cls.uncontrolled))
            continue
        measured = "–" if case is None else "; ".join(effect["text"] for effect in case["effects"])
        verdict = "not run" if case is None else _reached(case["verdict"])
        # what was done otherwise may be why a number was not reached
        rows.append((cls.title, control.reported, measured, f"{verdict}. {control.differs}".removesuffix(". ")))
    return rows


def _reached(verdict: str) -> str:
    return {"agrees": "reached", "disagrees": "not reached"}.get(verdict, verdict)


CONTROLS = ("method", "reported", "measured", "at its authors' recipe")


def markdown(results: Path, scale: Scale, controls: Sequence[Mapping[str, Any]]) -> str:
    """The page docs/race.md."""
    parts = [
        "# The race of accelerators",
        LEAD,
        "This page is written by `grokscope race --full --markdown` from stored results. `grokscope race` runs a small "
        "version; [adding a method](adding-a-method.md) takes one file.",
        *protocol(scale),
        "## Positive controls",
        "Each method first runs at its authors' recipe on their task (`race-controls`). *Reached*: the median is at most 1.25 "
        "times the published number, or, where the number is in a picture alone, the method is sooner than its authors' "
        "baseline.",
        _table(CONTROLS, controls_rows(controls)),
        ABSENT,
    ]
    found = {board.track: board for board in boards(results, scale)}
    for name in sorted(tracks.entries()):
        own = tracks.get(name)
        parts += [f"## Track {name}: {own.title}", (own.__doc__ or "").strip().splitlines()[0]]
        if name not in found:
            parts.append("Not run yet.")
            continue
        board = found[name]
        parts += [_table(HEADER, [cells(row) for row in board.rows]), f"{board.device}. {excluded_text(board)}".strip()]
    return "\n\n".join(parts) + "\n"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '∣') for cell in line)} |" for line in lines)


def report(
    shown: Sequence[Board],
    controls: Sequence[Mapping[str, Any]],
    scale: Scale,
    command: str,
    picture: Callable[[Board], Picture | None],
) -> str:
    """The same as one self-contained HTML page."""
    sections = [
        Section(
            name="controls",
            title="Positive controls",
            text=("Each method at its authors' recipe, on their task.", ABSENT),
            header=CONTROLS,
            rows=tuple(controls_rows(controls)),
        )
    ]
    for board in shown:
        drawn = picture(board)
        sections.append(
            Section(
                name=f"track-{board.track}",
                title=f"Track {board.track}: {board.title}",
                text=tuple(text for text in (board.about, excluded_text(board), board.device) if text),
                header=HEADER,
                rows=tuple(cells(row) for row in board.rows),
                pictures=(drawn,) if drawn else (),
            )
        )
    leaders = tuple(
        f"Track {board.track}: {board.rows[0].title} first ({board.rows[0].reached} of {board.rows[0].seeds} seeds)."
        for board in shown
        if board.rows
    )
    plain = tuple(text.replace("*", "") for text in protocol(scale))
    return render(
        Page(
            title="The race of accelerators",
            lead=LEAD,
            verdict=leaders,
            what=plain,
            sections=tuple(sections),
            command=command,
        )
    )
