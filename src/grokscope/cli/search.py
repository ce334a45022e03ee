"""The command `search`: find which tokens matter."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..garbage import no_collection, spared_objects
from .app import Device, Json, Lanes, Quiet, Runs, Sets, app, parse_sets
from .place import On, parse_place
from .printing import to_json
from .session import command_line, print_stats, search_trainer

if TYPE_CHECKING:
    from ..config import RunConfig

PREFIX = "search."


@app.command()
def search(
    file: Annotated[
        Path | None, typer.Argument(metavar="CONFIG.toml", help="Settings; those it does not name keep their defaults.")
    ] = None,
    settings: Sets = None,
    k: Annotated[
        int | None, typer.Option("--k", help="Number of tokens that matter; by default unknown, 1 to 4.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget",
            metavar="RUN_STEPS",
            help="Most steps of all candidates together until one is chosen; by default ten times `epochs`.",
        ),
    ] = None,
    rivals: Annotated[
        str | None,
        typer.Option(
            "--rivals",
            metavar="all | A,B,C",
            help="Also run other methods under the same splits and budget: plain, weight-decay, entropy, entmax, teacher, stg, "
            "hard-concrete; for parity also fourier, gf2, lasso.",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    on: On = "local",
    device: Device = "auto",
    lanes: Lanes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Find which tokens matter: race hypotheses about them, and train on with the one that holds.

    Every candidate is a run with a KL prior towards the tokens it names. Candidates are judged on validation examples taken from
    the training set; the winner is tested once on further examples, and the answer may be that there is no support. What is
    measured of all candidates is stored; only the last few are stored as runs. The same command continues where it stopped.
    Settings of the search itself begin with `search.`:

        grokscope search docs/examples/search-small.toml

        grokscope search my.toml --k 2 --budget 20000 --set search.schedule=racing --set search.family=classes
    """
    from ..errors import ConfigError

    with no_collection():
        from ..config import nested
        from ..config.files import read_config
        from ..fleet import TrainingStats
        from ..launch.submit import with_precision
        from ..searching.api import search as race
        from ..searching.page import write_page

    if budget is not None and budget < 1:
        raise ConfigError("--budget", f"{budget} is below 1")
    given = parse_sets(settings)
    own = {name.removeprefix(PREFIX): value for name, value in given.items() if name.startswith(PREFIX)}
    for name, value in (("k", k), ("budget", budget)):
        if value is not None and name in own:
            raise ConfigError(f"--{name}", f"is given twice: {value}, and {PREFIX}{name}={own[name]} with --set")
    given = {name: value for name, value in given.items() if not name.startswith(PREFIX)}
    place = parse_place(on, given)
    _require_none_of_search(file, given)
    config = with_precision(read_config(file, given), place, device)
    _require_splits(config, file, given)
    stats = TrainingStats()
    show = not (quiet or as_json)
    with spared_objects():  # memory is looked up before every stage
        tournament = race(
            config,
            k=k,
            budget=budget or 0,
            settings=nested(own),
            rivals=[word.strip() for word in (rivals or "").split(",") if word.strip()],
            runs=runs,
            device=device,
            train=search_trainer(place, runs, device, lanes, show, stats),
            notify=(lambda line: print(line, file=sys.stderr)) if show else None,
        )
    if tournament.status != "finished":
        print(f"{_stopped(tournament.to_dict())} To continue: {command_line()}", file=sys.stderr)
        raise typer.Exit(130)
    with no_collection():
        page = write_page(tournament, runs, command_line())
    if as_json:
        print(to_json({**tournament.to_dict(), "page": str(page)}))
    else:
        _print(tournament.to_dict(), tournament.verdict(), runs)
        _print_reused(tournament.to_dict(), stats.run_steps)
        print(f"\npage: {page}")
    print_stats(stats, as_json)


SPLITS = {
    "validation": "no validation split left, by which candidates are judged",
    "confirmation": "no confirmation split left, on which the winner is tested",
}


def _require_none_of_search(file: Path | None, given: dict[str, Any]) -> None:
    """Refuse settings of the search in the file, which describes a run, and `search` as if it were a component of it."""
    from ..config.files import read_toml
    from ..errors import ConfigError
    from ..settings import flatten

    plain = (read_toml(file) if file else {}) | given
    if "search" in plain:
        own = flatten({"search": plain["search"]})
        first = next((f"{name}={value}" for name, value in own.items() if name.startswith(PREFIX)), f"{PREFIX}k=2")
        raise ConfigError("search", f"settings of the search are not part of a run; give them with --set {first}")


def _require_splits(config: RunConfig, file: Path | None, given: dict[str, Any]) -> None:
    """Refuse a split of size 0 that was asked for; a task that says nothing gets the one of the search."""
    from ..config.files import read_toml
    from ..errors import ConfigError

    task = read_toml(file).get("task") if file else None
    asked = {*given, *(f"task.{name}" for name in (task if isinstance(task, dict) else {}))}
    for name, why in SPLITS.items():
        if f"task.{name}" in asked and getattr(config.task, name, None) == 0:
            raise ConfigError(f"task.{name}", f"{why}; leave the setting out, or choose a fraction such as 0.1")


def _stopped(plain: dict[str, Any]) -> str:
    """What was saved of a search that was interrupted."""
    begun = sum(not entry["rungs"] for entry in plain["tournament"])
    if plain["decided"] or not begun:
        return "stopped; what was measured is saved."
    return f"stopped; what was measured is saved, and {begun:,} candidates that were not yet compared begin again."


ROWS = 10
"""Candidates in the printed table."""


def _print(plain: dict[str, Any], verdict: str, runs: Path) -> None:
    from rich.table import Table

    from .printing import print_table

    def place(entry: dict[str, Any]) -> tuple[Any, ...]:
        loss = entry["rungs"][-1]["loss"]
        return entry["run"] != plain["run"], -(entry["dropped"] or 0), float("inf") if loss is None else loss

    header = ("candidate", "run", "calibrated loss", "accuracy", "run-steps", "dropped at", "why")
    table = Table(*header, box=None, pad_edge=False)
    listed = sorted(plain["tournament"], key=place)
    for entry in listed[:ROWS]:
        last = entry["rungs"][-1]
        loss = "diverged" if last["loss"] is None else f"{last['loss']:.3f}"
        dropped = "winner" if entry["run"] == plain["run"] else f"epoch {entry['dropped']}"
        run = entry["run"] if (runs / entry["run"]).is_dir() else "not stored"
        why = entry["why"].partition(" of ")[0]  # the best, which is in the table
        table.add_row(entry["name"], run, loss, f"{last['accuracy']:.1%}", f"{entry['run_steps']:,}", dropped, why)
    print_table(table, 130)
    if len(listed) > ROWS:
        print(f"… and {len(listed) - ROWS:,} more")
    print(f"\n{verdict}")
    outcome = plain["outcome"]
    if outcome["generalised_epoch"] is not None:
        print(
            f"99 % test accuracy at epoch {outcome['generalised_epoch']:,}, after {outcome['generalised_run_steps']:,} run-steps "
            "of all candidates together."
        )
    else:
        print(f"Test accuracy at epoch {outcome['epoch']:,}: {outcome['test_accuracy']:.1%}.")
    if plain["rivals"]:
        print()
        _print_rivals(plain["rivals"])


def _print_reused(plain: dict[str, Any], trained: int) -> None:
    """Say so where this command trained less than the search took: what is stored is not trained again."""
    total = plain["run_steps"] + sum(one["run_steps"] for one in plain["rivals"] if one["name"] != "search")
    if trained < total:
        print(f"Of {total:,} run-steps {trained:,} were trained now; the others are stored from before.")


def _print_rivals(outcomes: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from ..searching.tournament import rival_cells
    from .printing import print_table

    table = Table("method", "support", "run-steps", "to 99 % test", "test accuracy", "note", box=None, pad_edge=False)
    for one in outcomes:
        table.add_row(*rival_cells(one))
    print_table(table, 100)
