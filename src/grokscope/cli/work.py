"""Commands that train: demo, train, sweep."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import Again, Device, Json, Lanes, Name, Quiet, Runs, Seeds, Sets, app, parse_seeds, parse_sets, parse_ticket
from .completion import complete
from .place import On, parse_place
from .preview import DryRun, show_preview
from .printing import to_json
from .session import command_line, print_stats, stop_here_if_interrupted, train_and_show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..config import RunConfig
    from ..launch.executors import Executor

Track = Annotated[
    list[str] | None,
    typer.Option(
        "--to",
        metavar="TRACKER",
        help="Send every row to tensorboard, wandb (offline) or trackio too. May be repeated.",
    ),
]


@app.command()
def demo(
    seeds: Seeds = "3",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Directory for the page and the figures.")
    ] = Path("demo"),
    runs: Annotated[
        Path | None,
        typer.Option("--runs", metavar="DIR", help="Directory of the runs; by default inside the output directory."),
    ] = None,
    device: Device = "auto",
    again: Again = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Three runs side by side: one that waits, one that is told where to look, one that is misled.

    Trains a small transformer on modular addition among random distractors without a prior, with a KL prior towards the
    informative tokens, and with one towards the distractors; prints a verdict and writes a page with figures that works offline.
    """
    from .. import demo as show

    runs = runs or output / "runs"
    chosen = parse_seeds(seeds)
    configs = show.configs(chosen)
    conditions = [arm for arm in show.ARMS for _ in chosen]
    if not (quiet or as_json):
        words = [_program(), "live", "--runs", str(runs)]
        print(f"to watch it in the browser: {shlex.join(words)}", file=sys.stderr)
    stored = train_and_show(
        configs,
        runs=runs,
        device=device,
        lanes=None,
        quiet=quiet or as_json,
        conditions=conditions,
        again=again,
    )
    stop_here_if_interrupted(configs, stored)
    result = show.write(stored, output, command=command_line())
    if as_json:
        print(to_json(result.to_dict()))
    else:
        print(f"\n{result.verdict}\n\npage: {result.page}")


def _program() -> str:
    """How to call this program: `make demo` runs one that is not in PATH."""
    own = sys.argv[0]
    return own if Path(own).name == "grokscope" and shutil.which("grokscope") is None else "grokscope"


@app.command()
def train(
    file: Annotated[
        Path | None, typer.Argument(metavar="CONFIG.toml", help="Settings; those it does not name keep their defaults.")
    ] = None,
    settings: Sets = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="Name of the task; `grokscope list tasks` shows the choices.", autocompletion=complete("tasks")
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Name of the model.", autocompletion=complete("models"))] = None,
    optim: Annotated[
        str | None, typer.Option(help="Name of the optimizer.", autocompletion=complete("optimizers"))
    ] = None,
    prior: Annotated[str | None, typer.Option(help="Name of the prior.", autocompletion=complete("priors"))] = None,
    filter: Annotated[
        str | None, typer.Option(help="Name of the gradient filter.", autocompletion=complete("filters"))
    ] = None,
    ticket: Annotated[
        str | None,
        typer.Option(
            metavar="RUN@EPOCH",
            help="Prune by the magnitudes of a trained run and start from its initial weights. EPOCH is a number, last, "
            "t_mem or t_grok; the default is last. Other tickets: `--set ticket.kind=…`.",
        ),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Fraction of the weights that the ticket prunes (default: 0.6).")
    ] = None,
    loss: Annotated[str | None, typer.Option(help="Name of the loss.", autocompletion=complete("losses"))] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds", metavar="N | A,B,C", help="Number of seeds (0 … N−1), or a list; by default the setting `seed`."
        ),
    ] = None,
    name: Name = None,
    runs: Runs = Path("runs"),
    on: On = "local",
    device: Device = "auto",
    lanes: Lanes = None,
    again: Again = False,
    track: Track = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train one configuration with several seeds, side by side.

    The defaults are the paper's (modular addition mod 113 among two distractors). The same command continues where it
    stopped, and returns at once when every run is finished; --again trains from scratch.

        grokscope train --set task.p=31 --set task.train_fraction=0.6 --set optim.lr=0.01 --set epochs=1500 --seeds 3

        grokscope train my.toml --prior kl --set prior.beta=0.3

        grokscope train my.toml --ticket 3f9a@t_grok --rate 0.6
    """
    from ..config import with_seeds
    from ..config.files import read_config

    kinds = {"task": task, "model": model, "optim": optim, "prior": prior, "filter": filter, "loss": loss}
    chosen = {k: v for k, v in kinds.items() if v} | parse_ticket(ticket, rate)
    sets = parse_sets(settings)
    place = parse_place(on, sets)
    config = read_config(file, chosen | sets)
    configs = with_seeds(config, parse_seeds(seeds) if seeds is not None else None, "--seeds")
    if dry_run:
        _preview(configs, place, runs, device, lanes, again, as_json)
        return
    train_and_report(configs, place, runs, device, lanes, again, quiet, as_json, track or (), name)


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(metavar="GRID.toml", help="A configuration with a table \\[grid] of lists.")],
    settings: Sets = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="N | A,B,C", help="Seeds per point; overrides those of the file.")
    ] = None,
    name: Name = None,
    runs: Runs = Path("runs"),
    on: On = "local",
    device: Device = "auto",
    lanes: Lanes = None,
    again: Again = False,
    track: Track = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train every point of a grid, packed into fleets.

    A grid file is a configuration with a table of lists. Every combination of their values is trained
    with every seed:

        seeds = 5
        epochs = 3000
        [task]
        p = 59
        [grid]
        "prior.beta" = [0.0, 0.03, 0.1, 0.3]
        "optim.weight_decay" = [0.3, 1.0]
    """
    from ..launch.grid import read_grid

    sets = parse_sets(settings)
    place = parse_place(on, sets)
    configs = read_grid(file, sets, parse_seeds(seeds) if seeds is not None else None)
    if dry_run:
        _preview(configs, place, runs, device, lanes, again, as_json)
        return
    train_and_report(configs, place, runs, device, lanes, again, quiet, as_json, track or (), name)


def _preview(
    configs: Sequence[RunConfig],
    place: Executor,
    runs: Path,
    device: str,
    lanes: int | None,
    again: bool,
    as_json: bool,
) -> None:
    from ..conditions import arms_of

    arms = arms_of([config.to_dict() for config in configs])
    asked = [(arms.names[at], configs[at]) for at in arms.order()]
    show_preview(asked, place=place, runs=runs, device=device, lanes=lanes, again=again, as_json=as_json)


def train_and_report(
    configs: Sequence[RunConfig],
    place: Executor,
    runs: Path,
    device: str,
    lanes: int | None,
    again: bool,
    quiet: bool,
    as_json: bool,
    track: Sequence[str],
    name: str | None = None,
) -> None:
    """Train, and print a table of the runs."""
    from ..fleet import TrainingStats
    from .run_table import as_objects, table_of_runs

    stats = TrainingStats()
    stored = train_and_show(
        configs,
        place=place,
        runs=runs,
        device=device,
        lanes=lanes,
        quiet=quiet or as_json,
        stats=stats,
        again=again,
        track=track,
        name=name,
    )
    if as_json:
        print(to_json(as_objects(stored)))
    else:
        table_of_runs(stored)
    print_stats(stats, as_json)
    stop_here_if_interrupted(configs, stored)
