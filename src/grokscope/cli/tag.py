"""The command tag: names and tags for stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from .app import Json, Runs, Where, app, parse_sets
from .choice import EPILOG, choose_runs
from .printing import to_json


@app.command(epilog=EPILOG)
def tag(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Ids of runs, or prefixes of them, or their present name.")
    ] = None,
    folder: Runs = Path("runs"),
    where: Where = None,
    name: Annotated[str | None, typer.Option("--name", help="New name of the runs; empty removes it.")] = None,
    add: Annotated[list[str] | None, typer.Option("--add", metavar="TAG", help="Add a tag. May be repeated.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="TAG", help="Remove a tag. May be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Give stored runs a name and tags; `runs --where name=…` and `--where tag=…` select by them.

    Neither changes what a run is: its id, and whether the same command finds it, depend on its settings alone. Runs may share a
    name, such as the seeds of one arm.

        grokscope tag 3f9a 81c0 --name baseline --add figure-2

        grokscope tag --where prior.beta=0.3 --remove draft
    """
    from ..store import write_tags
    from ..store.tags import check_word

    if not run and not where:
        raise ConfigError("RUN", "name the runs, or select them with --where")
    if name is None and not add and not remove:
        raise ConfigError("--name", "give a name, or tags to --add or --remove")
    if name is not None:
        check_word("--name", name, empty=True)
    for word in add or []:
        check_word("--add", word)
    chosen = choose_runs(folder, run, parse_sets(where, "--where"), started=True)
    written = {one.id: write_tags(one.path, name=name, add=add or (), remove=remove or ()) for one in chosen.runs}
    if as_json:
        print(to_json([{"id": id, "name": own.name, "tags": list(own.tags)} for id, own in written.items()]))
    else:
        for id, own in written.items():
            print(f"{id}  {own.name or '(no name)'}  {', '.join(own.tags)}".rstrip())
    chosen.finish(chosen.problems)
