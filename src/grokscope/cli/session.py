"""What the commands that train have in common: notices, the display, and what is said when training was interrupted."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .printing import to_json

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..fleet import TrainingStats
    from ..launch.executors import Executor
    from ..launch.memory import MemoryRun
    from ..searching.training import Trainer
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
    again: bool | None = False,
    track: Sequence[str] = (),
    name: str | None = None,
    place: Executor | None = None,
) -> list[RunInfo]:
    """Train with a live display, unless quiet.

    conditions   what each run is called
    stats        what training takes is added to it
    again        train from scratch what is stored already; None: the command has no such option
    track        trackers that are sent every row
    name         what the user calls the runs
    place        where to train; None is this machine
    """
    from ..launch.executors import parse_place
    from ..launch.submit import train_all, with_precision
    from ..loading import loaded_files
    from ..measures import measures
    from ..store import FINISHED, read_run, read_tags, write_tags
    from ..store.tags import Tags, check_word
    from .measure import measure_finished, summary
    from .notices import notices, small_networks, stored_runs
    from .progress import Display

    if name is not None:
        check_word("--name", name, empty=True)
    place = place or parse_place("local", {})
    configs = [with_precision(config, place, device) for config in configs]
    if not again:
        for line in notices(stored_runs(configs, runs), loaded_files(), measures.entries(), again is not None):
            print(line, file=sys.stderr)
    finished = [] if again else [run for run in stored_runs(configs, runs) if run.status in FINISHED]
    there = {run.id for run in finished}
    if not quiet and (line := small_networks([c for c in configs if c.id not in there], place, device)):
        print(line, file=sys.stderr)
    tags = {config.id: read_tags(runs / config.id) for config in configs} if again else {}
    train = partial(
        train_all, configs, on=place, device=device, runs=runs, lanes=lanes, stats=stats, again=bool(again), track=track
    )
    try:
        if quiet or not place.in_process(device):
            trained = train(quiet=quiet)
            _exit_if_detached(place, runs, configs)
        else:
            with Display(configs, conditions) as display:
                trained = train(progress=display)
    finally:  # also of runs that failed or were interrupted, and of runs that were trained again
        for id in {config.id for config in configs}:
            if (runs / id).is_dir() and (name is not None or id in tags):
                old = tags.get(id, Tags())
                write_tags(runs / id, name=old.name if name is None else name, add=old.tags)
    if name is not None or tags:
        trained = [read_run(run.path) for run in trained]
    if added := measure_finished(finished):
        print(summary(added), file=sys.stderr)
    return trained


def stage_trainer(
    place: Executor,
    runs: Path,
    device: str,
    lanes: int | None,
    show: bool,
    stats: TrainingStats,
    held_out: bool = False,
) -> Callable[[Sequence[RunConfig], Sequence[str]], list[RunInfo]]:
    """A function that trains candidates to the next stage of a search or a race, given with their names; with a live display, if
    `show`.

    held_out   whether they are candidates of a search, of which validation examples are shown instead of test examples
    """
    from ..launch.submit import train_all
    from ..searching.training import quiet_rungs, quiet_stages
    from .progress import Display

    how: dict[str, Any] = {"on": place, "runs": runs, "device": device, "lanes": lanes, "stats": stats}
    how["notify"] = quiet_rungs if held_out else quiet_stages

    def train(configs: Sequence[RunConfig], names: Sequence[str]) -> list[RunInfo]:
        if not show or not place.in_process(device):
            trained = train_all(configs, quiet=not show, **how)
            _exit_if_detached(place, runs, configs)
            return trained
        with Display(configs, names, held_out=held_out) as display:
            return train_all(configs, progress=display, **how)

    return train


def _exit_if_detached(place: Executor, runs: Path, configs: Sequence[RunConfig]) -> None:
    """Exit with 130 if jobs of a cluster still have some of the runs; that they continue was said."""
    from ..launch.jobs import busy_elsewhere

    if place.kind != "local" and busy_elsewhere(place, runs, {config.id for config in configs}).runs:
        raise typer.Exit(130)


def search_trainer(
    place: Executor, runs: Path, device: str, lanes: int | None, show: bool, stats: TrainingStats
) -> Trainer:
    """How a search trains its candidates: in memory first, if this process trains."""
    from ..launch.local import train_in_memory
    from ..searching.training import Trainer
    from .progress import Display

    def memory(own: Sequence[MemoryRun], names: Sequence[str]) -> None:
        how: dict[str, Any] = {"device": place.own_device(device), "lanes": lanes, "stats": stats, "fit_only": True}
        if not show:
            train_in_memory(own, **how)
            return
        with Display([run.config for run in own], names, held_out=True) as display:
            train_in_memory(own, progress=display, **how)

    stored = stage_trainer(place, runs, device, lanes, show, stats, held_out=True)
    return Trainer(stored, memory if place.in_process(device) else None)


def print_stats(stats: TrainingStats, as_json: bool) -> None:
    """One line, if anything was trained; with --json on stderr, since stdout holds the results."""
    if stats.run_steps and as_json:
        print(to_json({"stats": stats.to_dict()}, indent=None), file=sys.stderr)
    elif stats.run_steps:
        print(f"\n{stats}")


def stop_here_if_interrupted(configs: Sequence[RunConfig], stored: Sequence[RunInfo]) -> None:
    """Say how to continue and exit with 130, when some of the runs are not finished."""
    epochs = sorted(run.epoch for run in stored if run.status in ("stopped", "running"))
    if not epochs and len(stored) == len({config.id for config in configs}):
        return
    where = ""
    if epochs:
        where = f" at epoch {epochs[0]}" if epochs[0] == epochs[-1] else f" at epochs {epochs[0]} to {epochs[-1]}"
    words = [word for word in sys.argv[1:] if word != "--again"]  # which would delete what was just trained
    print(f"stopped{where}; everything is saved. To continue: {shlex.join(['grokscope', *words])}", file=sys.stderr)
    raise typer.Exit(130)
