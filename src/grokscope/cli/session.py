"""What the commands that train have in common: the display, and what is said when training was cut short."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..fleet import TrainingStats
    from ..store import RunInfo


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["grokscope", *sys.argv[1:]])


def train_and_show(
    configs: Sequence[RunConfig],
    *,
    runs: Path,
    device: str,
    lanes: int | None,
    quiet: bool,
    conditions: Sequence[str] | None = None,
    stats: TrainingStats | None = None,
) -> list[RunInfo]:
    """Train with a live display, unless quiet.

    conditions   name what each run is
    stats       what training takes is added to it
    """
    from ..launch.local import train_all
    from .progress import Display

    if quiet:
        return train_all(configs, device=device, runs=runs, lanes=lanes, stats=stats)
    with Display(configs, conditions) as display:
        return train_all(configs, device=device, runs=runs, lanes=lanes, progress=display, stats=stats)


def print_stats(stats: TrainingStats, as_json: bool) -> None:
    """One line, if anything was trained; for machines on stderr, beside the results on stdout."""
    if stats.run_steps and as_json:
        print(json.dumps({"stats": stats.to_dict()}), file=sys.stderr)
    elif stats.run_steps:
        print(f"\n{stats}")


def stop_here_if_interrupted(configs: Sequence[RunConfig], stored: Sequence[RunInfo]) -> None:
    """Say how to go on and leave, when some of the runs are not over."""
    epochs = sorted(run.epoch for run in stored if run.status in ("stopped", "running"))
    if not epochs and len(stored) == len({config.id for config in configs}):
        return
    where = ""
    if epochs:
        where = f" at epoch {epochs[0]}" if epochs[0] == epochs[-1] else f" at epochs {epochs[0]} to {epochs[-1]}"
    print(f"stopped{where}; everything is kept. To go on: {command_line()}", file=sys.stderr)
    raise typer.Exit(130)
