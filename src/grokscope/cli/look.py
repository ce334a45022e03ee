"""Commands that show what there is: runs, show, report, list."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, StoreError, nearest
from ..settings import flatten
from .app import Json, Runs, Status, Where, app, check_status, parse_sets
from .printing import print_table, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..analysis import Criterion, Times
    from ..store import RunInfo

COLUMNS = 6
"""Most settings shown in a table of runs; the seed is the last of them."""

FIRST = {"train accuracy": "t_mem_first", "test accuracy": "t_grok_first"}
"""The first touch of the threshold, shown beside times that another clock finds."""

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
    "figures": "figures",
}
"""Where the registry of each component is."""
PARTS = {
    "attentions": ("attentions", "model.attention"),
    "positions": ("position_encodings", "model.positions"),
    "norms": ("norms", "model.norm_kind"),
    "mlps": ("mlps", "model.mlp"),
    "readouts": ("readouts", "model.readout"),
}
"""Parts of the transformer: their registry in `models.parts`, and the setting that chooses one."""

Threshold = Annotated[
    float, typer.Option("--threshold", metavar="ACCURACY", help="Accuracy that counts as memorised and as grokked.")
]
Clock = Annotated[
    str,
    typer.Option(
        "--clock",
        metavar="first | held | stable",
        help="Since when: the first evaluation at the threshold, the first from which it is held for the window, or the first "
        "from which it is never lost again.",
    ),
]
Window = Annotated[int, typer.Option("--window", metavar="EPOCHS", help="For how long the clock `held` asks.")]


def parse_criterion(threshold: float, clock: str, window: int) -> Criterion:
    """When a run counts as having memorised, and as having grokked."""
    from ..analysis import Criterion

    try:
        return Criterion(threshold=threshold, clock=clock, window=window)  # type: ignore[arg-type]
    except ConfigError as error:
        raise ConfigError(f"--{error.field}", error.problem) from None


@app.command()
def runs(
    folder: Runs = Path("runs"),
    where: Where = None,
    status: Status = None,
    threshold: Threshold = 0.99,
    clock: Clock = "held",
    window: Window = 100,
    as_json: Json = False,
) -> None:
    """List the stored runs: status, when they memorised, when they grokked.

    The times are those at which train and test accuracy met the criterion of `--threshold`, `--clock` and `--window`. "Never"
    is said only of a run that was trained to its last epoch.
    """
    from ..store import list_runs

    criterion = parse_criterion(threshold, clock, window)
    check_status(status)
    wanted = parse_sets(where, "--where")
    found = [run for run in list_runs(folder) if status in (None, run.status) and matches(run, wanted)]
    if as_json:
        print(to_json(as_objects(found, criterion)))
    else:
        table_of_runs(found, criterion)


@app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or a prefix of it.")],
    folder: Runs = Path("runs"),
    threshold: Threshold = 0.99,
    clock: Clock = "held",
    window: Window = 100,
    as_json: Json = False,
) -> None:
    """Show one run: its settings, its phases in words, its last measurements."""
    from ..analysis import find_phases, run_times
    from ..store import find_run, read_metrics

    criterion = parse_criterion(threshold, clock, window)
    info = find_run(folder, run)
    metrics = read_metrics(info).to_pandas()
    phases = find_phases(metrics, criterion).describe(criterion, info.status) if len(metrics) else []
    times = run_times(metrics, criterion).to_dict() if len(metrics) else {}
    last = {} if metrics.empty else {k: v for k, v in metrics.iloc[-1].to_dict().items() if v == v}
    if as_json:
        more = {"manifest": info.manifest, "summary": info.summary, "times": times, "phases": phases, "last": last}
        print(to_json(as_objects([info], criterion)[0] | more))
        return
    table_of_runs([info], criterion)
    touched = [f"{name} at epoch {times[key]:,}" for name, key in FIRST.items() if times and _too_early(times, key)]
    if touched:
        print(f"first touch of {criterion.percent}: {', '.join(touched)}")
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
    threshold: Threshold = 0.99,
    clock: Clock = "held",
    window: Window = 100,
    figure: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Show this figure in place of the standard ones. May be repeated."),
    ] = None,
) -> None:
    """Write one self-contained HTML page about runs: figures, statistics, a table, the command. It works offline."""
    from ..report.runs import build_page
    from ..store import find_run, list_runs, save_file
    from .session import command_line

    criterion = parse_criterion(threshold, clock, window)
    chosen = (
        [find_run(folder, id) for id in run]
        if run
        else [r for r in list_runs(folder) if r.status != "damaged" and r.summary]
    )
    unique = list({info.id: info for info in chosen}.values())
    html, _ = build_page(unique, command=command_line(), title=title, criterion=criterion, figures=figure or ())
    print(save_file(output, html))


@app.command(name="list")
def list_(
    component: Annotated[
        str,
        typer.Argument(
            metavar="COMPONENT",
            help="tasks, models, priors, optimizers, filters, losses, tickets, measures, probes, figures; or a part of the "
            "transformer: attentions, positions, norms, mlps, readouts.",
        ),
    ],
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show only this entry.")] = None,
    as_json: Json = False,
) -> None:
    """List what can be chosen by name, with every setting, its default and its meaning."""
    import importlib

    from ..describe import entry

    if component in PARTS:
        name_in_parts, prefix = PARTS[component]
        registry = getattr(importlib.import_module("grokscope.models.parts"), name_in_parts)
    elif component in COMPONENTS:
        registry = getattr(importlib.import_module(f"grokscope.{COMPONENTS[component]}"), component)
        prefix = registry.field
    else:
        raise ConfigError("list", f"unknown component {component!r}. {nearest(component, [*COMPONENTS, *PARTS])}")
    entries = {name: registry.get(name)} if name else registry.entries()
    found = [entry(name, thing) for name, thing in entries.items()]
    if as_json:
        print(to_json(found))
        return
    for one in found:
        print(f"{one['name']}\n    {one['about']}")
        for setting in one.get("settings", []):
            print(f"    {prefix}.{setting['name']:<18} {setting['default']!s:<14} {setting['meaning']}")


def as_objects(found: Sequence[RunInfo], criterion: Criterion | None = None) -> list[dict[str, Any]]:
    """Runs as plain data: what `--json` prints. The times are those by the criterion, by default the default one."""
    from ..analysis import DEFAULT

    criterion = criterion or DEFAULT
    return [
        {
            "id": run.id,
            "config": run.config,
            "status": run.status,
            "epoch": run.epoch,
            "t_mem": times.t_mem if times else None,
            "t_grok": times.t_grok if times else None,
            "criterion": criterion.to_dict(),
            **{key: run.summary.get(key) for key in ("train_accuracy", "test_accuracy")},
        }
        | ({"problem": run.problem} if run.problem else {})
        for run, times in ((run, _times(run, criterion)) for run in found)
    ]


def _times(run: RunInfo, criterion: Criterion) -> Times | None:
    """The times of a run; None, and a line on stderr, where they cannot be read. One damaged run must not hide the others."""
    from ..analysis import times_of

    if run.problem:
        return None
    try:
        return times_of(run, criterion)
    except StoreError as error:
        print(error, file=sys.stderr)
        return None


def table_of_runs(found: Sequence[RunInfo], criterion: Criterion | None = None) -> None:
    """Print a table with a column for every setting in which the runs differ. The times are those by the criterion, by default
    the default one."""
    from rich.table import Table

    from ..analysis import DEFAULT

    criterion = criterion or DEFAULT
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
        when = _times(run, criterion)
        times = [_epoch(getattr(when, key, None), run.status if when else "damaged") for key in ("t_mem", "t_grok")]
        shares = [_share(run.summary.get(key)) for key in ("train_accuracy", "test_accuracy")]
        table.add_row(
            run.id, *(str(settings.get(n, "")) for n in differing), run.status, str(run.epoch), *times, *shares
        )
    # a narrow screen wraps lines rather than losing columns or the ends of numbers
    print_table(table, 200, soft_wrap=True)
    print(f"t_mem: {criterion.describe('train accuracy')}; t_grok: {criterion.describe('test accuracy')}")
    if hidden:
        print(f"(also different: {', '.join(hidden)}; --json shows all)", file=sys.stderr)
    for run in found:
        if run.problem:
            print(run.problem, file=sys.stderr)


def _epoch(value: int | None, status: str) -> str:
    from ..analysis import unreached_word

    return unreached_word(status) if value is None else str(value)


def _too_early(times: dict[str, Any], first: str) -> bool:
    """Whether the threshold was touched at an epoch that the criterion does not count."""
    return times[first] is not None and times[first] != times[first.removesuffix("_first")]


def _share(value: Any) -> str:
    return f"{100 * value:.1f}%" if isinstance(value, (int, float)) else "–"


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
