"""Commands that reproduce: reproduce, claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .app import Device, Json, Lanes, Quiet, app

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..store import RunInfo

Results = Annotated[Path, typer.Option("--results", metavar="DIR", help="Folder of the compact results.")]


@app.command()
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME…]", help="Experiments; none lists them.")] = None,
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

    Goes on where it stopped. `grokscope reproduce` alone lists the experiments.
    """
    from ..experiments import all_experiments, find_experiment

    if not names and not every:
        for experiment in all_experiments().values():
            print(f"{experiment.name:<22} {experiment.title}: {experiment.question}")
        return
    chosen = list(all_experiments().values()) if every else [find_experiment(name) for name in names or []]
    rows = []
    for experiment in chosen:
        rows += _reproduce(
            experiment, "full" if full else "quick", seeds, runs, results, device, lanes, quiet or as_json
        )
        if not as_json:
            _print([row for row in rows if row["experiment"] == experiment.name])
    if as_json:
        print(json.dumps(rows, indent=1))


def _reproduce(
    experiment: Any,
    scale: Any,
    seeds: int | None,
    runs: Path,
    results: Path,
    device: str,
    lanes: int | None,
    quiet: bool,
) -> list[dict[str, Any]]:
    from .. import __version__
    from ..experiments.collect import effort, probe_tables, run_rows
    from ..experiments.ledger import draw, rulings
    from ..store.results import Results as Stored
    from ..store.results import save_results
    from .session import stop_here_if_interrupted, train_and_show

    arms, configs = zip(*experiment.configs(scale, seeds), strict=True)
    names = {config.id: arm for arm, config in zip(arms, configs, strict=True)}
    trained: list[RunInfo] = []
    asked: list[RunConfig] = []
    for stage in experiment.stages(configs):
        conditions = [names[config.id] for config in stage]
        trained += train_and_show(stage, runs=runs, device=device, lanes=lanes, quiet=quiet, conditions=conditions)
        asked += stage
        stop_here_if_interrupted(asked, trained)
    order = list(names)
    stored = sorted(trained, key=lambda run: order.index(run.id))
    table, curves = run_rows(stored, arms)
    looked = probe_tables(experiment.probes, stored, arms)
    about = {
        "experiment": experiment.name,
        "scale": scale,
        "version": __version__,
        "device": stored[0].manifest.get("device", ""),
        **effort(configs, table),
    }
    kept = Stored(about, table, curves, looked)
    folder = save_results(results, kept)
    draw(experiment, kept, folder)
    return rulings(experiment, kept)


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
    from ..experiments.ledger import as_markdown, draw_all, ledger

    if scale not in ("full", "quick"):
        raise ConfigError("--scale", f"{scale!r} is neither full nor quick")
    rows = ledger(results, scale)
    if not rows:
        raise ConfigError("--results", f"{results} holds no {scale} results yet; run grokscope reproduce")
    if pictures:
        draw_all(results, scale, pictures)
    if output:
        from ..experiments.gallery import gallery
        from ..store import save_file
        from .session import command_line

        save_file(output, gallery(results, scale, command_line()))
    if as_json:
        print(json.dumps(rows, indent=1))
    elif markdown:
        print(as_markdown(rows), end="")
    else:
        _print(rows)


def _print(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print(f"\n{row['experiment']} · {row['claim']} ({row['scale']})\n  {row['statement']}\n  → {row['verdict']}")
        print(f"  {row['measured']}\n  rule: {row['rule']}")
