"""Commands that reproduce: reproduce, claims."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .app import Device, Json, Lanes, Quiet, app

if TYPE_CHECKING:
    import pandas as pd

    from ..config import RunConfig
    from ..experiments import Experiment
    from ..experiments.base import Scale
    from ..fleet import TrainingStats
    from ..store import RunInfo
    from ..store.results import Results as Stored

Results = Annotated[Path, typer.Option("--results", metavar="DIR", help="Folder of the compact results.")]
Asked = list[tuple[str, "RunConfig"]]
"""Arms and their runs."""

PRICING = 1.0
"""Seconds for which a step of an arm is timed."""


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME…]", help="Experiments, or patterns such as 'si-*'; none lists them."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's sizes (GPU), or minutes on two cores.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Every experiment.")] = False,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="Seeds per arm; by default the experiment's.")
    ] = None,
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Folder of the runs.")] = Path("runs"),
    results: Results = Path("results"),
    device: Device = "auto",
    lanes: Lanes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run an experiment by name: trains its arms, prints the verdicts, writes pictures and compact results.

    Several experiments are trained side by side, and runs that they share once. Goes on where it stopped.
    `grokscope reproduce` alone lists the experiments.
    """
    from ..experiments import all_experiments
    from ..experiments.base import matching_experiments

    if not names and not every:
        for experiment in all_experiments().values():
            print(f"{experiment.name:<24} {experiment.title}: {experiment.question}")
        return
    import pandas as pd

    from ..experiments.collect import training_totals
    from ..experiments.ledger import draw, rulings
    from ..fleet import TrainingStats
    from ..store.results import save_results
    from .session import print_stats

    chosen = list(all_experiments().values()) if every else matching_experiments(names or [])
    scale: Scale = "full" if full else "quick"
    asked = {experiment.name: experiment.configs(scale, seeds) for experiment in chosen}
    if every:
        chosen = [experiment for experiment in chosen if _has_data(experiment, asked)]
        asked = {experiment.name: asked[experiment.name] for experiment in chosen}
    everything = [one for some in asked.values() for one in some]
    begin, before = time.perf_counter(), _steps(everything, runs)
    spent_on = TrainingStats()
    stored = _train(everything, runs, device, lanes, quiet or as_json, spent_on)
    spent, now = time.perf_counter() - begin, _steps(everything, runs) - before
    rows, drawn = [], []
    for experiment in chosen:
        kept = _collect(experiment, scale, asked[experiment.name], stored, device)
        drawn.append((experiment, kept, save_results(results, kept)))
        rows += (own := rulings(experiment, kept))
        if not as_json:
            _print(own)
    draw(drawn)
    if as_json:
        print(json.dumps(rows, indent=1))
        print_stats(spent_on, as_json)
        return
    total = training_totals(pd.concat([kept.runs for _, kept, _ in drawn]))
    print_stats(spent_on, as_json)
    print(f"\n{now:,} optimizer steps were trained now, in {spent:,.0f} seconds.")
    print(f"In all: {total['runs']:,} runs, {total['run_steps']:,} steps, {total['seconds']:,.0f} seconds of steps.")


def _has_data(experiment: Experiment, asked: dict[str, Asked]) -> bool:
    """Whether the data of all its tasks are on this machine; if not, says what is missing."""
    try:
        for _, config in asked[experiment.name]:
            config.task.require_data()
    except ConfigError as error:
        print(f"left out: {experiment.name}, {error}", file=sys.stderr)
        return False
    return True


def _train(
    asked: Asked, runs: Path, device: str, lanes: int | None, quiet: bool, stats: TrainingStats
) -> dict[str, RunInfo]:
    """All runs of all experiments, those that others refer to first; by id."""
    from ..experiments.base import in_stages
    from .session import stop_here_if_interrupted, train_and_show

    wanted = {config.id: (arm, config) for arm, config in asked}
    trained: list[RunInfo] = []
    begun: list[RunConfig] = []
    for stage in in_stages([config for _, config in wanted.values()]):
        conditions = [wanted[config.id][0] for config in stage]
        trained += train_and_show(
            stage, runs=runs, device=device, lanes=lanes, quiet=quiet, conditions=conditions, stats=stats
        )
        begun += stage
        stop_here_if_interrupted(begun, trained)
    return {run.id: run for run in trained}


def _steps(asked: Asked, runs: Path) -> int:
    """Optimizer steps that the runs have behind them."""
    from ..store import read_run

    configs = {config.id: config for _, config in asked}
    return sum(read_run(runs / id).epoch * c.steps_per_epoch for id, c in configs.items() if (runs / id).exists())


def _collect(experiment: Experiment, scale: Scale, asked: Asked, stored: dict[str, RunInfo], device: str) -> Stored:
    """One experiment's results."""
    from .. import __version__
    from ..analysis import DEFAULT
    from ..experiments.collect import probe_tables, run_rows, training_totals
    from ..store.results import Results as Stored

    arms, own = [arm for arm, _ in asked], [stored[config.id] for _, config in asked]
    table, curves = run_rows(own, arms, DEFAULT)
    if experiment.priced:
        table = _price(table, asked, device)
    about = {
        "experiment": experiment.name,
        "scale": scale,
        "version": __version__,
        "device": own[0].manifest.get("device", ""),
        "criterion": DEFAULT.to_dict(),
        **training_totals(table),
    }
    return Stored(about, table, curves, probe_tables(experiment.probes, own, arms))


def _price(table: pd.DataFrame, asked: Asked, device: str) -> pd.DataFrame:
    """Add what each run would have taken with the device to itself, from timing a few epochs of each arm now."""
    from ..bench.fleet import FleetLoop, seconds_per_epoch
    from ..experiments.collect import priced
    from ..ops.devices import resolve_device

    place = resolve_device(device)
    first = dict(reversed(asked)).items()  # the first seed of each arm
    return priced(table, {arm: seconds_per_epoch(FleetLoop(config, 1, place), PRICING) for arm, config in first})


@app.command()
def claims(
    results: Results = Path("results"),
    scale: Annotated[str, typer.Option(help="full or quick")] = "full",
    markdown: Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")] = False,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", metavar="DIR", help="Also redraw every picture into DIR.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="Also write a page with all pictures.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The ledger: every claim with what was measured and its verdict, rebuilt from stored results without training."""
    from ..experiments.clauses import KEY
    from ..experiments.ledger import as_markdown, draw, load_ledger

    if scale not in ("full", "quick"):
        raise ConfigError("--scale", f"{scale!r} is neither full nor quick")
    ledger = load_ledger(results, scale)  # type: ignore[arg-type]
    if ledger.stale:
        print(
            f"left out, stored results are stale: {', '.join(ledger.stale)}; run grokscope reproduce",
            file=sys.stderr,
        )
    if not ledger.found:
        raise ConfigError("--results", f"{results} holds no {scale} results yet; run grokscope reproduce")
    rows = ledger.rows()
    if pictures:
        draw((experiment, stored, pictures) for experiment, stored in ledger.found)
    if output:
        from ..experiments.gallery import gallery
        from ..store import save_file
        from .session import command_line

        save_file(output, gallery(ledger, rows, command_line()))
    if as_json:
        print(json.dumps(rows, indent=1))
    elif markdown:
        print(as_markdown(ledger, rows), end="")
    else:
        _print(rows)
        print(f"\n{ledger.summary()}\n{ledger.criteria()}\n{KEY}")


def _print(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        print(f"\n{row['experiment']} · {row['claim']} ({row['scale']})\n  {row['statement']}\n  → {row['verdict']}")
        if row["reported"]:
            print(f"    the paper: {row['reported']}")
        for line in row["measured"].splitlines():
            print(f"    {line}")
        print(f"  test: {row['test']}\n  rule: {row['rule']}")
