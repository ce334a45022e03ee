"""The runs that a command reads: those named, or all in a folder. One that cannot be read never hides the others.

The rule of exit codes, for all commands that read runs: 0 if a whole folder was read, with a line on stderr about each run that
had to be omitted; 1 if a run that was given by name cannot be read; 2 if nothing can be shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from ..errors import ConfigError, StoreError

if TYPE_CHECKING:
    from rich.progress import TaskID

    from ..store import RunInfo

EPILOG = (
    "A run that cannot be read is named on stderr and omitted. The exit code is then 1 if it was given by name, else 0."
)
"""For the help of commands that read runs."""


class Choice(NamedTuple):
    """The runs to read."""

    runs: list[RunInfo]
    problems: dict[str, str]
    """What is wrong with the runs that cannot be read, by id."""
    named: bool
    """Whether runs were given by name."""

    def finish(self, problems: Mapping[str, str]) -> None:
        """Name the runs that were omitted, and exit with 1 if one of them was given by name."""
        from ..store import omitted_lines

        for line in omitted_lines(problems):
            print(line, file=sys.stderr)
        if problems and self.named:
            raise typer.Exit(1)


def choose_runs(
    folder: Path, names: Sequence[str] | None, where: Mapping[str, str] | None = None, *, started: bool = False
) -> Choice:
    """The runs with these ids or names, or all runs in `folder` that have measurements.

    where     only runs with these settings
    started   also runs that have no measurements yet
    """
    from ..store import list_runs
    from .selection import select_runs, unmatched

    found = [run for name in names for run in _named(folder, name)] if names else list_runs(folder)
    chosen = {run.id: run for run in select_runs(found, where or {}, keep_damaged=True)}
    if where and not chosen:
        raise ConfigError("--where", unmatched(found, where) or "no run has all of these settings")
    problems = {run.id: run.problem for run in chosen.values() if run.problem}
    # Without a name asked for, a run that was only just started is passed over.
    runs = [run for run in chosen.values() if not run.problem and (names or started or run.summary)]
    return Choice(runs, problems, bool(names))


def _named(folder: Path, name: str) -> list[RunInfo]:
    """The run whose id begins so, or all runs that the user gave this name."""
    from ..store import find_run, list_runs

    try:
        return [find_run(folder, name, damaged=True)]
    except StoreError:
        if folder.is_dir() and (found := [run for run in list_runs(folder) if run.name == name]):
            return found
        raise


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on stderr, if that is a terminal. What it yields is called with what is being done, how much is done, and how much
    there is."""
    if not sys.stderr.isatty():  # importing rich takes as long as drawing a picture
        yield lambda doing, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        stages: dict[str, TaskID] = {}

        def advance(doing: str, done: int, total: int) -> None:
            if doing not in stages:
                stages[doing] = bar.add_task(doing, total=total)
            bar.update(stages[doing], completed=done)

        yield advance
