"""The command that evaluates measures on runs that were trained without them: measure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import Json, Runs, app
from .printing import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..run.measure import Added
    from ..store import RunInfo


@app.command()
def measure(
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN…", help="Ids of runs, or prefixes of them; all finished runs if omitted."),
    ] = None,
    folder: Runs = Path("runs"),
    as_json: Json = False,
) -> None:
    """Evaluate measures that runs were trained without, at the checkpoints that they kept.

    Their values become columns of the stored metrics, empty at epochs without a checkpoint (`--set log.keep=100` keeps one every
    100 epochs). The commands that train do the same for runs that are finished already; `--again` retrains them instead.

        grokscope --load my_measure.py measure 3f9a
    """
    from ..store import FINISHED, find_run, list_runs

    infos = [find_run(folder, id) for id in run] if run else [r for r in list_runs(folder) if r.status in FINISHED]
    added = measure_finished(infos)
    if as_json:
        print(to_json({id: found._asdict() for id, found in added.items()}))
    elif added:
        print(summary(added))
    else:
        print("nothing to measure: every registered measure is stored")


def measure_finished(runs: Iterable[RunInfo]) -> dict[str, Added]:
    """Evaluate what is missing; what was added, by run. A run that cannot be read is named on stderr and left alone."""
    from ..errors import GrokscopeError
    from ..run import StoredRun
    from ..run.measure import add_missing

    found = {}
    for info in runs:
        try:
            added = add_missing(StoredRun(info))
        except GrokscopeError as error:
            print(f"run {info.id} was not measured: {error}", file=sys.stderr)
            continue
        if added is not None:
            found[info.id] = added
    return found


def summary(added: dict[str, Added]) -> str:
    """One line: which measures, of how many runs, at how many checkpoints."""
    names = ", ".join(dict.fromkeys(name for one in added.values() for name in one.measures))
    counts = sorted({len(one.epochs) for one in added.values()})
    runs = f"{len(added)} finished run{'s were' if len(added) > 1 else ' was'}"
    many = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    where = f"at {many} kept checkpoint{'s' if counts[-1] > 1 else ''}" + (" each" if len(added) > 1 else "")
    return f"{runs} trained without {names}: now evaluated {where}; --again retrains for every evaluation"
