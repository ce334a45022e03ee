"""The option --dry-run: what a command would train, what of it is stored already, and how long the rest takes at most."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .printing import print_table, to_json

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..launch.executors import Executor
    from ..launch.preview import Part, Preview

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Say what would be trained, what is stored already, and how long the rest takes at most; train and write nothing.",
    ),
]

SECONDS = 0.3
"""How long a step of each shape is timed."""
COLUMNS = ("condition", "runs", "finished", "begun", "steps left at most")


def show_preview(
    asked: Sequence[tuple[str, RunConfig]],
    *,
    place: Executor,
    runs: Path,
    device: str,
    lanes: int | None,
    again: bool,
    as_json: bool,
    more: Sequence[str] = (),
) -> None:
    """Print what these runs would take, by condition.

    more   further lines, about what is not counted
    """
    from ..launch.preview import preview
    from ..launch.submit import check_known, with_precision
    from ..store import omitted_lines

    asked = [(name, with_precision(config.check(), place, device)) for name, config in asked]
    check_known({config.id: config for _, config in asked}, runs)
    found = preview(asked, runs, again)
    seconds, reason = _seconds(found.left, place, device, lanes)
    for line in omitted_lines(found.damaged, "cannot be read"):
        print(line, file=sys.stderr)
    if as_json:
        whole: dict[str, Any] = found.total._asdict() | {"seconds_at_most": seconds, "not_counted": [*reason, *more]}
        print(to_json(whole | {"conditions": [part._asdict() for part in found.parts]}))
        return
    if found.parts:
        _print_parts(found)
    if seconds is not None and found.left:
        from ..launch.overview import clock

        print(f"That is at most {clock(seconds)} here (minutes:seconds), by a timing of a few steps and evaluations.")
    for line in (*reason, *more):
        print(line)
    print("Nothing was trained or written." if found.left else "Nothing is left to train.")


def _print_parts(found: Preview) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for place, name in enumerate(COLUMNS):
        table.add_column(name, justify="right" if place else "left", no_wrap=True)
    for part in found.parts:
        table.add_row(*_cells(part))
    if len(found.parts) > 1:
        table.add_row(*_cells(found.total), style="bold")
    longest = max(len(part.name) for part in found.parts)
    print_table(table, longest + sum(len(name) + 4 for name in COLUMNS[1:]))


def _cells(part: Part) -> list[str]:
    return [part.name, *(f"{number:,}" for number in part[1:])]


def _seconds(
    left: Sequence[RunConfig], place: Executor, device: str, lanes: int | None
) -> tuple[float | None, list[str]]:
    """Seconds of the steps and evaluations that are left, timed on this machine if it is the one that trains, and what is not
    among them; ConfigError for what could not be trained."""
    from ..bench.experiments import timed_shapes
    from ..config.references import origins
    from ..launch.plan import check_fits
    from ..ops.devices import resolve_device
    from ..ops.memory import free_memory

    if not left:
        return 0.0, []
    if not place.in_process(device):
        return None, ["How long that takes is not known here, since other processes train."]
    own = [config for config in left if not origins(config)]
    if not own:
        return None, ["How long that takes is not known, since all of these runs start from others."]
    here = resolve_device(place.own_device(device))
    check_fits(left, here, free_memory(here))
    print("timing a few steps …", file=sys.stderr)
    shapes = timed_shapes("", own, here, SECONDS, lanes=lanes)
    seconds = sum(shape.seconds(config) for shape in shapes for config in shape.configs)
    rest = len(left) - len(own)
    return seconds, [f"{rest:,} runs that start from others are not in that time."] * (rest > 0)
