"""The command race: accelerators under equal budgets."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .app import Device, Json, Lanes, Quiet, Runs, app
from .place import On, PlaceSets, parse_fixed_place
from .race_shown import show_estimates, show_race, show_tuned

if TYPE_CHECKING:
    from ..experiments import Experiment
    from ..fleet import TrainingStats
    from ..launch.executors import Executor
    from ..race.methods.base import Method
    from ..race.tracks.base import Scale, Sizes, Track
    from ..race.tuning import Train
    from ..searching.training import Trainer

CONTROLS = "controls"
"""Named like a track: the positive controls."""


@app.command()
def race(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TRACK…", help="A to E, or controls; the controls and all tracks by default.", show_default=False
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="A,B,C", help="Only these methods; stored results of others are kept."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="64 draws and 20 seeds (for a GPU), or a size for two cores.")
    ] = False,
    draws: Annotated[
        int | None, typer.Option("--draws", help="Draws per method; 64 at full size, 2 at quick size.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", help="Fresh seeds per method; 20 at full size, 2 at quick size.")
    ] = None,
    tune_only: Annotated[bool, typer.Option("--tune-only", help="Stop after tuning.")] = False,
    time_only: Annotated[
        bool,
        typer.Option(
            "--time-only", help="Time the steps of stored methods again, and count their operations; train nothing."
        ),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print how many run-steps it takes at most, and train nothing.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Print stored leaderboards, and train nothing.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/race.md.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PAGE.html", help="Also write a page with tables and pictures."),
    ] = None,
    runs: Runs = Path("runs"),
    results: Annotated[Path, typer.Option("--results", metavar="DIR", help="Directory of the compact results.")] = Path(
        "results"
    ),
    on: On = "local",
    settings: PlaceSets = None,
    device: Device = "auto",
    lanes: Lanes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Race accelerators of grokking under equal budgets, and print a leaderboard with intervals.

    Every method has the same number of draws of its settings on each track; the best on tuning seeds is scored on fresh seeds. What
    tuning has chosen is stored with the results. The same command continues where it stopped. Seconds are those of this machine:
    with `--on slurm` or `--on ray` they are left out.

        grokscope race A --methods adamw,lion

        grokscope --load my_method.py race C --methods mine

        grokscope race --show --full

        grokscope race B --full --time-only
    """
    from ..race.estimate import check_sizes, estimate, estimate_controls
    from ..race.tracks.base import SIZES, tracks
    from ..race.tracks.base import track as find_track
    from ..race.tuning import StoppedError
    from .session import command_line

    scale: Scale = "full" if full else "quick"
    place = parse_fixed_place(on, settings, "a race")
    sizes = SIZES[scale]
    sizes = sizes._replace(draws=sizes.draws if draws is None else draws, seeds=sizes.seeds if seeds is None else seeds)
    check_sizes(sizes)
    asked = [CONTROLS if name.lower() == CONTROLS else name for name in names or [CONTROLS, *sorted(tracks.entries())]]
    if tune_only and names and CONTROLS in asked:
        raise ConfigError("--tune-only", "the controls have their authors' settings: there is nothing to tune")
    chosen = {own.kind: own for own in (_track(name, find_track) for name in asked) if own is not None}
    wanted = {kind: _methods(own, methods, scale) for kind, own in chosen.items()}
    if time_only:
        others = {"--methods": methods, "--draws": draws, "--seeds": seeds, "--tune-only": tune_only, "--plan": plan}
        others |= {
            "--show": show,
            "--markdown": markdown,
            "--on": place.kind != "local",
            CONTROLS: bool(names) and CONTROLS in asked,
        }
        if given := [word for word, value in others.items() if value not in (None, False)]:
            raise ConfigError(
                "--time-only", f"times all methods of a track on this machine; it does not go with {given[0]}"
            )
        how = _How(scale, sizes, runs, results, place, device, lanes, quiet or as_json)
        _time(chosen.values() if names else _run_before(chosen.values(), how), how)
    elif not (show or markdown):
        controls = _controls(methods) if CONTROLS in asked and not tune_only else None
        if plan or not (quiet or as_json):
            of_controls = None if controls is None else estimate_controls(controls, scale, sizes)
            show_estimates(
                of_controls,
                [estimate(own, wanted[kind].values(), scale, sizes) for kind, own in chosen.items()],
                as_json=as_json,
                file=sys.stdout if plan else sys.stderr,
            )
        if plan:
            return
        how = _How(scale, sizes, runs, results, place, device, lanes, quiet or as_json)
        try:
            if controls is not None and controls.arms:
                _run(controls, how, how.sizes.seeds)
            for kind, own in chosen.items():
                _tune(own, wanted[kind], how)
                if not tune_only:
                    _score(own, wanted[kind], how)
        except StoppedError:
            print(f"stopped; everything is saved. To continue: {command_line()}", file=sys.stderr)
            raise typer.Exit(130) from None
        how.print_stats(as_json)
        if tune_only:
            show_tuned([own.experiment for own in chosen.values()], results, scale, as_json=as_json)
            return
    show_race(list(chosen), CONTROLS in asked, results, scale, markdown=markdown, output=output, as_json=as_json)


def _track(name: str, find: Any) -> Track | None:
    from ..errors import nearest
    from ..race.tracks.base import tracks

    if name == CONTROLS:
        return None
    try:
        return find(name)
    except ConfigError:
        raise ConfigError("track", f"none is called {name!r}. {nearest(name, [*tracks.entries(), CONTROLS])}") from None


def _methods(track: Track, words: str | None, scale: Scale) -> dict[str, Method]:
    """The methods that run on a track; those that were asked for by name and do not apply are named on stderr."""
    from ..race.methods.base import methods_on

    applicable, excluded = methods_on(track.base(scale))
    if words is None:
        return applicable
    asked = _named(words)
    for name in asked:
        if name in excluded:
            print(f"track {track.kind}: {name} does not apply ({excluded[name]})", file=sys.stderr)
    return {name: applicable[name] for name in asked if name in applicable}


def _named(words: str) -> dict[str, type[Method]]:
    """The methods of `--methods`, by name."""
    from ..race.methods.base import accelerators

    asked = [word.strip() for word in words.split(",") if word.strip()]
    if not asked:
        raise ConfigError("--methods", "names no method; `grokscope list accelerators` shows the choices")
    return {name: accelerators.get(name) for name in asked}


def _controls(words: str | None) -> Experiment:
    """The positive controls, or those of some methods with their baselines; methods that have none are named on stderr."""
    from ..experiments.base import find_experiment
    from ..papers.race.controls import BASELINE

    experiment = find_experiment("race-controls")
    if words is None:
        return experiment
    asked = _named(words)
    for name, cls in asked.items():
        if cls.control is None:
            print(f"controls: {name} has none ({cls.uncontrolled})", file=sys.stderr)
    titles = {cls.title for cls in asked.values()}

    def chosen(arms: Mapping[str, Any]) -> dict[str, Any]:
        return {arm: own for arm, own in arms.items() if arm.removesuffix(BASELINE) in titles}

    return replace(experiment, arms=chosen(experiment.arms), quick_arms=chosen(experiment.quick_arms or {}))


class _How:
    """How a race is run."""

    def __init__(
        self,
        scale: Scale,
        sizes: Sizes,
        runs: Path,
        results: Path,
        place: Executor,
        device: str,
        lanes: int | None,
        quiet: bool,
    ):
        from ..fleet import TrainingStats
        from ..launch.submit import precision_on

        self.scale, self.sizes, self.runs, self.results = scale, sizes, runs, results
        self.place, self.device, self.lanes, self.quiet = place, device, lanes, quiet
        self.precision = precision_on(place, device)
        self.stats: TrainingStats = TrainingStats()

    def notify(self, line: str) -> None:
        if not self.quiet:
            print(line, file=sys.stderr)

    def print_stats(self, as_json: bool) -> None:
        from .session import print_stats

        print_stats(self.stats, as_json)

    def trainer(self) -> Train:
        """Training with a live display, unless quiet."""
        from .session import stage_trainer

        return stage_trainer(self.place, self.runs, self.device, self.lanes, not self.quiet, self.stats)

    def search_trainer(self) -> Trainer:
        """The same for searches, which train in memory if this process trains."""
        from .session import search_trainer

        return search_trainer(self.place, self.runs, self.device, self.lanes, not self.quiet, self.stats)


def _tune(track: Track, methods: dict[str, Method], how: _How) -> None:
    from ..race.methods.base import method
    from ..race.tuning import Tuning

    needed = {one.inherits: method(one.inherits) for one in methods.values() if one.inherits}
    own = needed | {name: one for name, one in methods.items() if not one.inherits}
    Tuning(track, own, how.scale, how.sizes, how.results, how.precision, how.trainer(), how.notify).run()


def _score(track: Track, methods: dict[str, Method], how: _How) -> None:
    """Train the chosen settings on fresh seeds; the results are stored beside those of methods that were not asked for."""
    from ..experiments.base import find_experiment

    experiment = find_experiment(track.experiment)
    titles = {one.title for one in methods.values()}
    experiment = replace(experiment, arms={arm: own for arm, own in experiment.arms.items() if arm in titles})
    if not experiment.arms:
        return
    assert experiment.prepare is not None
    _run(experiment.prepare(experiment, how.results, how.scale), how, how.sizes.seeds)


def _run_before(tracks: Iterable[Track], how: _How) -> list[Track]:
    from ..store.results import load_results

    return [track for track in tracks if load_results(how.results, track.experiment, how.scale) is not None]


def _time(tracks: Iterable[Track], how: _How) -> None:
    """Store the seconds and operations of a step anew, of all methods with results; nothing if one of the tracks has none."""
    from ..experiments.base import find_experiment
    from ..ops.devices import device_name, resolve_device
    from ..store.results import Results, load_results, save_results
    from .science import timed_and_counted

    here = device_name(resolve_device(how.device))
    found: dict[str, Results] = {}
    for track in tracks:
        stored = load_results(how.results, track.experiment, how.scale)
        if stored is None:
            raise ConfigError(
                "--time-only", f"{how.results} has no {how.scale} results of track {track.kind}; run grokscope race"
            )
        if here != stored.about["device"]:
            raise ConfigError("--time-only", f"the runs are of {stored.about['device']}; this is {here}")
        found[track.experiment] = stored
    for name, stored in found.items():
        experiment, known = find_experiment(name), set(stored.runs["arm"])
        experiment = replace(experiment, arms={arm: own for arm, own in experiment.arms.items() if arm in known})
        assert experiment.prepare is not None
        asked = experiment.prepare(experiment, how.results, how.scale).configs(how.scale, None, how.precision)
        how.notify(f"{name}: the steps of {len(known)} methods")
        save_results(how.results, stored._replace(runs=timed_and_counted(stored.runs, asked, how.device, how.scale)))


def _run(experiment: Experiment, how: _How, seeds: int | None) -> None:
    from ..experiments.drawing import draw
    from ..papers.race.collected import searches_of, tournaments_of
    from ..race.merging import merged
    from .adding import publish
    from .science import collect_new, completed, train_arms

    asked = experiment.configs(how.scale, seeds, how.precision)
    how.notify(f"{experiment.name}: {len(asked)} runs")
    stored = train_arms(asked, how.place, how.runs, how.device, how.lanes, None, how.quiet, how.stats)
    if searches := searches_of(stored.values()):
        tournaments_of(searches, str(how.runs), how.search_trainer())
    if experiment.priced and how.place.kind != "local":
        print(
            f"{experiment.name}: no seconds, since steps are timed on this machine only (--on local)", file=sys.stderr
        )
        experiment = replace(experiment, priced=False)
    new = collect_new(experiment, how.scale, asked, stored)
    if new is None:
        print(f"{experiment.name}: no run could be trained", file=sys.stderr)
        return
    kept = completed(experiment, how.scale, new, asked, how.device, asked, None)
    kept, folder = publish(
        experiment.name,
        how.results,
        how.scale,
        lambda now: merged(kept, now, lambda line: print(line, file=sys.stderr)),
    )
    draw([(experiment, kept, folder)])
