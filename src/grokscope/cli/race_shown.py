"""What the command race shows of stored results: leaderboards, positive controls, and the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import ConfigError
from .printing import print_table, to_json

if TYPE_CHECKING:
    from ..race.board import Board
    from ..race.estimate import ControlsEstimate, Estimate
    from ..race.tracks.base import Scale
    from ..report import Picture


def show_race(
    kinds: list[str],
    controls: bool,
    results: Path,
    scale: Scale,
    *,
    markdown: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print the leaderboards of these tracks, and the positive controls beside them, as text, Markdown or JSON; write the page if
    asked for.

    controls   whether the controls were asked for by name
    """
    from ..race.page import boards, report
    from ..race.page import markdown as page
    from ..store import save_file
    from .session import command_line

    cases = control_cases(results, scale)
    if markdown:
        print(page(results, scale, cases), end="")
        return
    found = boards(results, scale, kinds) if kinds else []
    if output is not None:
        save_file(output, report(found, cases, scale, command_line(), lambda board: _picture(board, results)))
    if as_json:
        print(to_json({"scale": scale, "controls": cases, "tracks": [board.to_dict() for board in found]}))
        return
    if kinds and not found:
        raise ConfigError(
            "--results", f"{results} has no {scale} results of track {', '.join(kinds)} yet; run grokscope race"
        )
    if controls and not kinds and not cases:
        raise ConfigError(
            "--results", f"{results} has no {scale} results of the controls yet; run grokscope race controls"
        )
    _print_controls(cases)
    for board in found:
        _print(board)


def show_estimates(
    controls: ControlsEstimate | None, tracks: Sequence[Estimate], *, as_json: bool, file: TextIO
) -> None:
    """Print how many run-steps a race takes at most, as text or JSON."""
    if as_json:
        own = None if controls is None else controls._asdict()
        print(to_json({"controls": own, "tracks": [one._asdict() for one in tracks]}), file=file)
        return
    for one in ([controls] if controls else []) + list(tracks):
        print(one, file=file)


def show_tuned(experiments: Sequence[str], results: Path, scale: Scale, *, as_json: bool) -> None:
    """Print what tuning has chosen: the tables as JSON, or where they are."""
    from ..store.tuned import load_tuned, tuned_file

    if as_json:
        print(to_json({name: load_tuned(results, name, scale) for name in experiments}))
        return
    for name in experiments:
        methods = ", ".join(load_tuned(results, name, scale)) or "no method"
        print(f"{name}: settings of {methods} in {tuned_file(results, name, scale)}")


def control_cases(results: Path, scale: Scale) -> list[dict[str, Any]]:
    """The cases of the positive controls, as the ledger has them; empty if they were not run. One whose runs are of another length
    than its recipe has now says so in place of its verdict."""
    from ..experiments.base import find_experiment
    from ..experiments.ledger import rulings
    from ..store.results import load_results

    stored = load_results(results, "race-controls", scale)
    if stored is None:
        return []
    experiment = find_experiment("race-controls")
    now = {arm: config.epochs for arm, config in experiment.configs(scale, 1)}
    before = {arm: int(own.max()) for arm, own in stored.runs.groupby("arm")["epochs"]}
    cases = [dict(case) for row in rulings(experiment, stored) for case in row["cases"]]
    for case in cases:
        epochs, wanted = (own.get(case["name"], 0) for own in (before, now))
        if epochs and wanted and epochs != wanted:
            case["verdict"] = f"to be run again for {wanted:,} epochs: these are {epochs:,}"
    return cases


def _picture(board: Board, results: Path) -> Picture | None:
    from ..experiments.base import find_experiment
    from ..experiments.drawing import drawn_pictures
    from ..figures.style import to_png, to_svg
    from ..report import Picture
    from ..store.results import load_results

    stored = load_results(results, f"race-{board.track}", board.scale)
    if stored is None:
        return None
    drawn = next(drawn_pictures(find_experiment(f"race-{board.track}"), stored))
    width, height = map(float, drawn.figure.get_size_inches())
    alt = f"Dot plot of the steps to 99 % test accuracy, one row per method; {board.rows[0].title} comes first."
    return Picture(
        name=f"race-{board.track}",
        title=f"Track {board.track}",
        caption=drawn.caption,
        alt=alt,
        width=width,
        height=height,
        svg=to_svg(drawn.figure),
        png=to_png(drawn.figure),
    )


def _print(board: Board) -> None:
    from rich.table import Table

    from ..race.page import excluded_text
    from ..race.words import HEADER, cells

    print(f"\nTrack {board.track}: {board.title}. {board.about} ({board.scale}, {board.device})")
    table = Table(*HEADER, box=None, pad_edge=False)
    for row in board.rows:
        table.add_row(*cells(row))
    print_table(table, 180)
    if board.excluded:
        print(excluded_text(board))


def _print_controls(cases: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from ..race.page import CONTROLS as HEADER
    from ..race.page import controls_rows

    if not cases:
        return
    print("Positive controls")
    table = Table(*HEADER, box=None, pad_edge=False)
    for row in controls_rows(cases):
        table.add_row(*row)
    print_table(table, 160)
