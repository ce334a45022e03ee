"""Commands that show stored runs: runs, show, report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, StoreError
from ..garbage import no_collection
from ..scores import ACCURACY
from ..settings import flatten
from ..tasks import score_name
from .app import Json, Runs, Status, Where, app, check_status, parse_sets
from .choice import EPILOG, choose_runs, progress_bar
from .printing import to_json
from .run_table import as_objects, check_one_format, table_of_runs
from .selection import select_runs, unmatched

if TYPE_CHECKING:
    from ..analysis import Criterion

FIRST = {"train": "t_mem_first", "test": "t_grok_first"}
"""The first touch of the threshold, shown beside times that another clock finds."""

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


@app.command(epilog=EPILOG)
def runs(
    folder: Runs = Path("runs"),
    where: Where = None,
    status: Status = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,C",
            help="Show these columns: any setting, such as `prior.beta` or `beta`, and those of `grokscope list columns`.",
        ),
    ] = None,
    sort: Annotated[
        str, typer.Option("--sort", metavar="COLUMN", help="Sort by a column; `--sort -test` puts the largest first.")
    ] = "",
    threshold: Threshold = 0.99,
    clock: Clock = "held",
    window: Window = 100,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of a table.")] = False,
    as_json: Json = False,
) -> None:
    """List the stored runs: what tells them apart, status, when they memorised, when they grokked.

    The times are those at which train and test accuracy met the criterion of `--threshold`, `--clock` and `--window`. "Never"
    is said only of a run that was trained to its last epoch. On a terminal, columns that do not fit are left out and named; in a
    pipe nothing is.

        grokscope runs --where task=modular --sort t_grok

        grokscope runs --columns run,name,beta,t_grok --csv > runs.csv
    """
    from ..store import list_runs

    check_one_format(csv=as_csv, json=as_json)
    criterion = parse_criterion(threshold, clock, window)
    check_status(status)
    wanted = parse_sets(where, "--where")
    chosen = [name.strip() for name in (columns or "").split(",") if name.strip()]
    with no_collection():
        every = list_runs(folder)
        found = select_runs(every, wanted, keep_damaged=True)
        why_none = "" if found else unmatched(every, wanted)
        found = [run for run in found if status in (None, run.status)]
        if why_none:
            print(why_none, file=sys.stderr)
        if as_json:
            print(to_json(as_objects(found, criterion)))
        elif not why_none:
            table_of_runs(found, criterion, columns=chosen, sort=sort, as_csv=as_csv)


@app.command(epilog=EPILOG)
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
    info = find_run(folder, run, damaged=True)
    metrics, phases, times = None, [], {}
    score = score_name(info.config)
    try:
        metrics = None if info.problem else read_metrics(info).to_pandas()
    except StoreError as error:
        info = replace(info, problem=str(error))
    if metrics is not None and len(metrics):
        phases = find_phases(metrics, criterion).describe(criterion, info.status, score)
        times = run_times(metrics, criterion).to_dict()
    last = {} if metrics is None or metrics.empty else {k: v for k, v in metrics.iloc[-1].to_dict().items() if v == v}
    if as_json:
        more = {"manifest": info.manifest, "summary": info.summary, "times": times, "phases": phases, "last": last}
        print(to_json(as_objects([info], criterion)[0] | more))
        raise typer.Exit(1 if info.problem else 0)
    table_of_runs([info], criterion)
    touched = [
        f"{name} {score} at epoch {times[key]:,}" for name, key in FIRST.items() if times and _too_early(times, key)
    ]
    if touched:
        level = criterion.percent if score == ACCURACY else f"{criterion.threshold:.6g}"
        print(f"first touch of {level}: {', '.join(touched)}")
    if parent := info.manifest.get("parent"):
        print(f"branch of run {parent['run']}, from epoch {parent['epoch']:,}")
    print("\nphases")
    for sentence in phases:
        print(f"  {sentence}")
    print("\nsettings")
    settings = flatten(info.config)
    width = max(map(len, settings), default=0)
    for name, value in settings.items():
        print(f"  {name:<{width}} {value}".rstrip())
    print("\nlast measurements")
    for name, value in last.items():
        print(f"  {name:<22} {value:.6g}")
    raise typer.Exit(1 if info.problem else 0)


@app.command(epilog=EPILOG)
def report(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Ids of runs, or prefixes of them; all runs by default.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PAGE.html", help="File to write.")] = Path(
        "report.html"
    ),
    folder: Runs = Path("runs"),
    where: Where = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Grokking runs",
    threshold: Threshold = 0.99,
    clock: Clock = "held",
    window: Window = 100,
    figure: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Show this figure in place of the standard ones. May be repeated."),
    ] = None,
    arms: Annotated[int, typer.Option("--arms", min=1, metavar="N", help="Number of arms that the pictures show.")] = 6,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="SETTING", help="Arms by this setting alone, such as `prior.beta`. May be repeated."
        ),
    ] = None,
    reference: Annotated[
        str,
        typer.Option(
            "--reference",
            metavar="ARM",
            help="Arm to compare with; by default the one nearest to the default settings.",
        ),
    ] = "",
) -> None:
    """Write one self-contained HTML page about runs: figures, statistics, a table, the command. It works offline.

    Arms are named by what differs between the runs. Each is compared with the reference arm, and a test for trend is made over
    every numeric setting. The page stays small however many runs there are: it shows some arms and the first rows of each table,
    and says what it leaves out.

        grokscope report --where task=modular --by prior.beta -o beta.html
    """
    with no_collection(), progress_bar() as progress:  # importing and drawing make many objects that stay
        from ..report.runs import build_page
        from ..store import save_file
        from .session import command_line

        criterion = parse_criterion(threshold, clock, window)
        chosen = choose_runs(folder, run, parse_sets(where, "--where"))
        built = build_page(
            chosen.runs,
            command=command_line(),
            title=title,
            criterion=criterion,
            figures=figure or (),
            most_arms=arms,
            by=by or (),
            reference=reference,
            problems=chosen.problems,
            progress=progress,
        )
    for note in built.notes:
        print(note, file=sys.stderr)
    print(save_file(output, built.html))
    chosen.finish(built.problems)


def _too_early(times: dict[str, Any], first: str) -> bool:
    """Whether the threshold was touched at an epoch that the criterion does not count."""
    return times[first] is not None and times[first] != times[first.removesuffix("_first")]
