"""Commands that show what there is: runs, show, report, list."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, nearest
from ..settings import flatten
from .app import Json, Runs, Status, Where, app, check_status, parse_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..store import RunInfo

COLUMNS = 6
"""Most settings shown in a table of runs; the seed is the last of them."""

COMPONENTS = {
    "tasks": "tasks",
    "models": "models",
    "priors": "priors",
    "optimizers": "optim",
    "filters": "optim",
    "losses": "optim",
    "tickets": "tickets",
    "measures": "measures",
    "probes": "probes",
}


@app.command()
def runs(
    folder: Runs = Path("runs"),
    where: Where = None,
    status: Status = None,
    as_json: Json = False,
) -> None:
    """List the stored runs: status, when they memorised, when they grokked."""
    from ..store import list_runs

    check_status(status)
    wanted = parse_sets(where, "--where")
    found = [run for run in list_runs(folder) if status in (None, run.status) and matches(run, wanted)]
    if as_json:
        print(json.dumps(as_objects(found), indent=1))
    else:
        table_of_runs(found)


@app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or a prefix of it.")],
    folder: Runs = Path("runs"),
    as_json: Json = False,
) -> None:
    """Show one run: its settings, its phases in words, its last measurements."""
    from ..analysis import find_phases
    from ..store import find_run, read_metrics

    info = find_run(folder, run)
    metrics = read_metrics(info).to_pandas()
    phases = find_phases(metrics).describe() if len(metrics) else []
    last = {} if metrics.empty else {k: v for k, v in metrics.iloc[-1].to_dict().items() if v == v}
    if as_json:
        print(
            json.dumps(
                as_objects([info])[0]
                | {"manifest": info.manifest, "summary": info.summary, "phases": list(phases), "last": last},
                indent=1,
            )
        )
        return
    table_of_runs([info])
    print("\nphases")
    for sentence in phases:
        print(f"  {sentence}")
    print("\nsettings")
    for name, value in flatten(info.config).items():
        print(f"  {name:<22} {value}")
    print("\nlast measurements")
    for name, value in last.items():
        print(f"  {name:<22} {value:.6g}")


@app.command()
def report(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Ids of runs, or prefixes of them; all runs by default.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PAGE.html", help="File to write.")] = Path(
        "report.html"
    ),
    folder: Runs = Path("runs"),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Grokking runs",
) -> None:
    """Write one self-contained HTML page about runs: figures, statistics, a table, the command. It works offline."""
    from ..report.runs import build_page
    from ..store import find_run, list_runs, save_file
    from .session import command_line

    chosen = (
        [find_run(folder, id) for id in run]
        if run
        else [r for r in list_runs(folder) if r.status != "damaged" and r.summary]
    )
    unique = list({info.id: info for info in chosen}.values())
    html, _ = build_page(unique, command=command_line(), title=title)
    print(save_file(output, html))


@app.command(name="list")
def list_(
    component: Annotated[
        str,
        typer.Argument(
            metavar="COMPONENT", help="tasks, models, priors, optimizers, filters, losses, tickets, measures or probes."
        ),
    ],
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show only this entry.")] = None,
    as_json: Json = False,
) -> None:
    """List what can be chosen by name, with every setting, its default and its meaning."""
    import importlib

    from ..describe import entry

    if component not in COMPONENTS:
        raise ConfigError("list", f"unknown component {component!r}. {nearest(component, COMPONENTS)}")
    registry = getattr(importlib.import_module(f"grokscope.{COMPONENTS[component]}"), component)
    entries = {name: registry.get(name)} if name else registry.entries()
    found = [entry(name, thing) for name, thing in entries.items()]
    if as_json:
        print(json.dumps(found, indent=1))
        return
    for one in found:
        print(f"{one['name']}\n    {one['about']}")
        for setting in one.get("settings", []):
            print(f"    {registry.field}.{setting['name']:<18} {setting['default']!s:<14} {setting['meaning']}")


def as_objects(found: Sequence[RunInfo]) -> list[dict[str, Any]]:
    """Runs as plain data: what `--json` prints."""
    keys = ("t_mem", "t_grok", "train_accuracy", "test_accuracy")
    return [
        {
            "id": run.id,
            "config": run.config,
            "status": run.status,
            "epoch": run.epoch,
            **{k: run.summary.get(k) for k in keys},
        }
        | ({"problem": run.problem} if run.problem else {})
        for run in found
    ]


def table_of_runs(found: Sequence[RunInfo]) -> None:
    """Print a table with a column for every setting in which the runs differ."""
    from rich.console import Console
    from rich.table import Table

    if not found:
        print("no runs", file=sys.stderr)
        return
    flat = [flatten(run.config) for run in found]
    names = dict.fromkeys(name for settings in flat for name in settings)
    common = [n for n in names if n == "seed" or n.endswith(".kind") or all(n in settings for settings in flat)]
    differing = [n for n in common if len({str(s.get(n)) for s in flat}) > 1 or n == "seed"]
    differing, hidden = differing[-COLUMNS:], differing[:-COLUMNS]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("run", *differing, "status", "epoch", "t_mem", "t_grok", "train", "test"):
        table.add_column(header, justify="left" if header in ("run", "status") else "right", no_wrap=True)
    for run, settings in zip(found, flat, strict=True):
        times = [_epoch(run.summary.get(key)) for key in ("t_mem", "t_grok")]
        shares = [_share(run.summary.get(key)) for key in ("train_accuracy", "test_accuracy")]
        table.add_row(
            run.id, *(str(settings.get(n, "")) for n in differing), run.status, str(run.epoch), *times, *shares
        )
    console = Console()
    console.print(
        table, soft_wrap=True, width=max(console.width, 200)
    )  # a narrow screen wraps lines rather than losing columns
    if hidden:
        print(f"(also different: {', '.join(hidden)}; --json shows all)", file=sys.stderr)
    for run in found:
        if run.problem:
            print(run.problem, file=sys.stderr)


def _epoch(value: int | None) -> str:
    return "never" if value is None else str(value)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def matches(run: RunInfo, wanted: dict[str, str]) -> bool:
    """Whether a run has these settings; numbers are compared by value."""
    settings = flatten(run.config)
    for name, value in wanted.items():
        if settings and name not in settings:
            if name in {key.split(".")[0] for key in settings}:
                name = f"{name}.kind"
            else:
                raise ConfigError(name, f"no such setting. {nearest(name, settings)}")
        have = settings.get(name)
        if str(have) != value and not _equal_numbers(have, value):
            return False
    return True


def _equal_numbers(have: Any, value: str) -> bool:
    try:
        return float(have) == float(value)
    except (TypeError, ValueError):
        return False
