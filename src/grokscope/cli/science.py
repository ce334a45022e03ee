"""The command reproduce."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ConfigError
from ..helpers import cores
from .adding import addable, check_kept, kept_results, publish
from .app import Again, Device, Json, Lanes, Quiet, app
from .claims import Results, print_rows
from .collecting import Collector, collected
from .completion import complete
from .place import On, PlaceSets, parse_fixed_place
from .preview import DryRun, show_preview
from .printing import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from ..config import RunConfig
    from ..experiments import Experiment
    from ..experiments.base import Scale
    from ..fleet import TrainingStats
    from ..launch.executors import Executor
    from ..store import RunInfo
    from ..store.results import Results as Stored

Asked = list[tuple[str, "RunConfig"]]
"""Arms and their runs."""

PRICING: dict[Scale, float] = {"full": 0.5, "quick": 0.2}
"""Seconds for which the steps of an arm are timed."""


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Experiments, or patterns such as 'si-*'; without any, they are listed.",
            autocompletion=complete("experiments"),
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="The paper's sizes (for a GPU), or sizes that take minutes on two cores."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Run every experiment.")] = False,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="Number of seeds per arm; the default is the experiment's own.")
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option(
            "--arms",
            metavar="PATTERN",
            help="Only arms whose name matches, e.g. 'q = 16*', and those that they start from; with --add beside stored ones.",
        ),
    ] = None,
    runs: Annotated[
        Path, typer.Option("--runs", metavar="DIR", help="Directory of the runs, with one folder per run.")
    ] = Path("runs"),
    results: Results = Path("results"),
    on: On = "local",
    settings: PlaceSets = None,
    device: Device = "auto",
    lanes: Lanes = None,
    again: Again = False,
    add: Annotated[
        bool,
        typer.Option(
            "--add", help="Keep the stored results of runs that are still asked for, and train the others only."
        ),
    ] = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run an experiment by name: train its arms, print the verdicts, write figures and compact results.

    Experiments are trained side by side, and a run that several of them share is trained once. The same command continues
    where it stopped. Verdicts and pictures stay in the folder of results: `grokscope claims NAME` prints them again. Without
    arguments, `grokscope reproduce` lists the experiments.
    """
    from ..experiments import all_experiments
    from ..experiments.base import matching_experiments

    if not names and not every:
        for experiment in all_experiments().values():
            print(f"{experiment.name:<24} {experiment.title}: {experiment.question}")
        return
    import pandas as pd

    from ..experiments.collect import training_totals
    from ..experiments.drawing import draw
    from ..experiments.joining import of_arms, still_asked
    from ..experiments.ledger import rulings
    from ..fleet import TrainingStats
    from ..launch.submit import precision_on
    from ..store.results import load_results
    from .session import print_stats

    if add and again:
        raise ConfigError("--add", "keeps what is stored, and --again deletes it; give one of them")
    scale: Scale = "full" if full else "quick"
    chosen = list(all_experiments().values()) if every else matching_experiments(names or [])
    chosen = _prepared(chosen, results, scale, skip=every)
    place = parse_fixed_place(on, settings, "an experiment")
    if place.kind != "local" and (timed := [one.name for one in chosen if one.priced]):
        raise ConfigError("--on", f"{timed[0]} times its steps on this machine; reproduce it with --on local")
    precision = precision_on(place, device)
    asked = {experiment.name: experiment.configs(scale, seeds, precision) for experiment in chosen}
    if every:
        chosen = [experiment for experiment in chosen if _has_data(experiment, asked)]
        asked = {experiment.name: asked[experiment.name] for experiment in chosen}
    wanted = asked if arms is None else of_arms(asked, arms)
    chosen = [experiment for experiment in chosen if wanted[experiment.name]]
    earlier = {one.name: found for one in chosen if add and (found := kept_results(one, results, scale))}
    if arms is not None:
        check_kept([one.name for one in chosen if one.name not in earlier], results, scale, add)
    todo = {name: still_asked(earlier[name], own) if name in earlier else own for name, own in wanted.items()}
    if dry_run:
        several = len(todo) > 1
        show_preview(
            [(f"{name}: {arm}" if several else arm, own) for name, some in todo.items() for arm, own in some],
            place=place,
            runs=runs,
            device=device,
            lanes=lanes,
            again=again,
            as_json=as_json,
            more=_not_counted(chosen, earlier),
        )
        return
    everything = [one for some in todo.values() for one in some]
    begin, before = time.perf_counter(), 0 if again else _steps(everything, runs)
    spent_on = TrainingStats()
    collector = Collector(scale, runs, results)
    # some experiments time steps, or train searches, on a device that should do nothing else; others are added to stored results
    alone = [one for one in chosen if not one.needs_device and one.name not in earlier and arms is None]
    beside = {} if again else {one.name: wanted[one.name] for one in alone}
    with collector.watching(beside):
        stored = train_arms(everything, place, runs, device, lanes, again, quiet or as_json, spent_on)
    spent, now = time.perf_counter() - begin, _steps(everything, runs) - before
    rows, drawn, finished = [], [], []
    for experiment in chosen:
        kept = load_results(results, experiment.name, scale) if collector.has(experiment.name) else None
        if kept is None:
            own, first = todo[experiment.name], earlier.get(experiment.name)
            new = collect_new(experiment, scale, own, stored)
            if new is None and first is None:
                print(f"{experiment.name}: no run could be trained", file=sys.stderr)
                continue
            make = partial(completed, experiment, scale, new, own, device, asked[experiment.name])
            adds = arms is not None or first is not None
            base = partial(addable, experiment, first, add) if adds else _from_scratch
            kept, folder = publish(experiment.name, results, scale, make, base)
            drawn.append((experiment, kept, folder))
        finished.append(kept)
        rows += (ruled := rulings(experiment, kept))
        if not as_json:
            print_rows(ruled)
    if as_json:
        print(to_json(rows), flush=True)
    failures = draw(drawn).failures  # after the verdicts: a picture that fails must not hide them
    for name, problem in failures.items():
        print(f"picture {name} was not drawn ({problem})", file=sys.stderr)
    if as_json:
        print_stats(spent_on, as_json)
        raise typer.Exit(1 if failures else 0)
    if not finished:
        return
    print()
    for kept in finished:
        folder = results / kept.about["experiment"] / scale
        print(f"pictures of {kept.about['experiment']}: {folder} ({len(list(folder.glob('*.svg')))} as SVG and PNG)")
    total = training_totals(pd.concat([kept.runs for kept in finished]))
    print_stats(spent_on, as_json)
    print(f"\n{now:,} optimizer steps taken in {spent:,.0f} seconds.")
    print(
        f"In total: {total['runs']:,} runs, {total['run_steps']:,} steps, {total['seconds']:,.0f} seconds of training."
    )
    for line in _trained_later(chosen):
        print(line)
    if failures:
        raise typer.Exit(1)


def _not_counted(chosen: Sequence[Experiment], earlier: Mapping[str, Stored]) -> list[str]:
    """What a preview of these experiments leaves out."""
    found = [f"{name}: the {len(kept.runs):,} runs of the stored results are kept." for name, kept in earlier.items()]
    return found + _trained_later(chosen)


def _trained_later(chosen: Sequence[Experiment]) -> list[str]:
    """That the runs of searches and their like are in no number of steps."""
    names = [one.name for one in chosen if one.trains_on]
    return [f"{name}: further runs, trained when its results are collected, are not counted." for name in names]


def _prepared(chosen: Sequence[Experiment], results: Path, scale: Scale, skip: bool) -> list[Experiment]:
    """The experiments with settings that were found by tuning; with `skip`, those without are named and left out."""
    found = []
    for experiment in chosen:
        try:
            found.append(experiment.prepare(experiment, results, scale) if experiment.prepare else experiment)
        except ConfigError as error:
            if not skip:
                raise
            print(f"skipped {error}", file=sys.stderr)
    return found


def _has_data(experiment: Experiment, asked: dict[str, Asked]) -> bool:
    """Whether the data of all its tasks are installed; if not, print what is missing."""
    try:
        for _, config in asked[experiment.name]:
            config.task.require_data()
    except ConfigError as error:
        print(f"skipped {experiment.name}: {error}", file=sys.stderr)
        return False
    return True


def train_arms(
    asked: Asked,
    place: Executor | None,
    runs: Path,
    device: str,
    lanes: int | None,
    again: bool | None,
    quiet: bool,
    stats: TrainingStats,
) -> dict[str, RunInfo]:
    """Train all runs of all experiments, those that others refer to first; returns them by id.

    again   as in `train_and_show`
    """
    from ..config.references import in_stages
    from ..experiments.diverged import trainable, was_not_trained
    from .session import stop_here_if_interrupted, train_and_show

    wanted = {config.id: (arm, config) for arm, config in asked}
    trained: list[RunInfo] = []
    begun: list[RunConfig] = []
    for asked_now in in_stages([config for _, config in wanted.values()]):
        stage = trainable(asked_now, trained)
        kept = {config.id for config in stage}
        if lost := [wanted[config.id][0] for config in asked_now if config.id not in kept]:
            print(was_not_trained(lost), file=sys.stderr)
        if not stage:
            continue
        conditions = [wanted[config.id][0] for config in stage]
        trained += train_and_show(
            stage,
            place=place,
            runs=runs,
            device=device,
            lanes=lanes,
            quiet=quiet,
            conditions=conditions,
            stats=stats,
            again=again,
        )
        begun += stage
        stop_here_if_interrupted(begun, trained)
    return {run.id: run for run in trained}


def _steps(asked: Asked, runs: Path) -> int:
    """Optimizer steps taken by the runs so far."""
    from ..store import read_run

    configs = {config.id: config for _, config in asked}
    return sum(read_run(runs / id).epoch * c.steps_per_epoch for id, c in configs.items() if (runs / id).exists())


def _from_scratch(now: Stored | None) -> None:
    """What results are made of that replace the stored ones: nothing."""


def collect_new(experiment: Experiment, scale: Scale, asked: Asked, stored: dict[str, RunInfo]) -> Stored | None:
    """The results of the runs that were to be trained; None if none of them could be."""
    own = [(arm, stored[config.id]) for arm, config in asked if config.id in stored]
    return collected(experiment, scale, [arm for arm, _ in asked], own, cores()) if own else None


def completed(
    experiment: Experiment,
    scale: Scale,
    new: Stored | None,
    asked: Asked,
    device: str,
    every: Asked,
    earlier: Stored | None,
) -> Stored:
    """The results of one experiment: new ones and those stored earlier, if they are kept, with what is measured of all arms.

    asked   the runs that were to be trained
    every   all runs of the experiment
    """
    from ..experiments.joining import joined

    if earlier is None:
        assert new is not None
        kept = new
    else:
        kept, asked = joined(earlier, new, every, {arm for arm, _ in asked}), every
    trained = set(kept.runs["run"])
    there = [(arm, config) for arm, config in asked if config.id in trained]
    if experiment.priced:
        kept = kept._replace(runs=_price(kept.runs, there, device, PRICING[scale]))
    if experiment.counted:
        kept = kept._replace(runs=_count(kept.runs, there))
    return kept


def timed_and_counted(table: pd.DataFrame, asked: Asked, device: str, scale: Scale) -> pd.DataFrame:
    """The table with the seconds and the operations of an epoch of each arm, measured now."""
    return _count(_price(table, asked, device, PRICING[scale]), asked)


def _price(table: pd.DataFrame, asked: Asked, device: str, seconds: float) -> pd.DataFrame:
    """Add the time that each run would have taken alone on the device, estimated from a few epochs of each kind of arm: arms that
    differ only in numbers take the same steps, and are timed once."""
    from ..bench.fleet import FleetLoop, seconds_per_epoch
    from ..experiments.collect import priced
    from ..fleet.division import without_prior
    from ..launch.plan import signature
    from ..ops.devices import resolve_device

    place = resolve_device(device)
    first = dict(reversed(asked))  # the first seed of each arm
    kinds = {arm: (signature(config), without_prior(config)) for arm, config in first.items()}
    timed: dict[tuple[str, bool], float] = {}
    for arm, kind in kinds.items():
        if kind not in timed:
            loop = FleetLoop(first[arm], 1, place)
            timed[kind] = seconds_per_epoch(loop, seconds)
            loop.close()
    return priced(table, {arm: timed[kind] for arm, kind in kinds.items()})


def _count(table: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Add the operations of an epoch: those of the matrix products of one step, traced on the CPU."""
    from ..bench.trace import step_cost
    from ..experiments.collect import counted

    first = dict(reversed(asked)).items()  # the first seed of each arm
    return counted(table, {arm: 2.0 * step_cost(own).multiply_adds * own.steps_per_epoch for arm, own in first})
