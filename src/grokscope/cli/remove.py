"""The command that deletes stored runs: rm."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from .app import Json, Runs, Status, Where, app, check_status, parse_sets
from .printing import to_json


@app.command()
def rm(
    run: Annotated[list[str] | None, typer.Argument(metavar="RUN", help="Ids of runs, or prefixes of them.")] = None,
    folder: Runs = Path("runs"),
    where: Where = None,
    status: Status = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without confirmation.")] = False,
    as_json: Json = False,
) -> None:
    """Delete stored runs: those named, those that --where and --status select, or those that are both.

    The runs are listed, and deleted after confirmation; without a terminal to ask on, --yes is required. Runs that are being
    trained are refused, and then nothing is deleted.

        grokscope rm 3f9a

        grokscope rm --status diverged --where task.p=31
    """
    from ..store import delete_runs, find_run, list_runs
    from .run_table import as_objects, table_of_runs
    from .selection import select_runs

    if not run and not where and status is None:
        raise ConfigError("RUN", "name the runs to delete, or select them with --where or --status")
    check_status(status)
    wanted = parse_sets(where, "--where")
    named = {info.id: info for info in (find_run(folder, id, damaged=True) for id in run or [])}
    candidates = list(named.values()) if run else list_runs(folder)
    found = [info for info in select_runs(candidates, wanted) if status in (None, info.status)]
    if not as_json:
        table_of_runs(found)
    if not found:
        if as_json:
            print("[]")
        return
    count = f"{len(found)} run{'s' if len(found) > 1 else ''}"
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigError("--yes", f"required to delete {count}: there is no terminal to ask on")
        print(f"Delete {count} for good? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("nothing was deleted", file=sys.stderr)
            raise typer.Exit(1)
    delete_runs(info.path for info in found)
    print(to_json(as_objects(found)) if as_json else f"deleted {count}")
