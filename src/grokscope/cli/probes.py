"""The command that analyses kept checkpoints: probe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .app import Json, Runs, app
from .printing import print_table, to_json

if TYPE_CHECKING:
    import pandas as pd


@app.command()
def probe(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of a probe; without it, the probes are listed.")
    ] = None,
    run: Annotated[list[str] | None, typer.Argument(metavar="RUN", help="Ids of runs, or prefixes of them.")] = None,
    folder: Runs = Path("runs"),
    as_json: Json = False,
) -> None:
    """Analyse the kept checkpoints of runs: how masks change, which frequencies neurons use, how the logits depend on them.

    A run keeps checkpoints when it is trained with `log.keep`. Without arguments, `grokscope probe`
    lists the probes.

        grokscope train --set log.keep=500 --set epochs=5000

        grokscope probe jaccard 3f9a
    """
    from ..describe import entry
    from ..probes import StoredRun, evaluate, few_threads, probes

    if name is None:
        listed = [entry(name, probe) for name, probe in probes.entries().items()]
        print(to_json(listed) if as_json else "\n".join(f"{p['name']:<10} {p['about']}" for p in listed))
        return
    probes.get(name)  # an unknown name is refused first
    if not run:
        raise ConfigError("RUN", f"name the runs to analyse with probe {name}; `grokscope runs` lists them")
    with few_threads():
        tables = {stored.id: evaluate(name, stored) for stored in (StoredRun.find(folder, id) for id in run)}
    if as_json:
        rows = [{"run": id, **row} for id, table in tables.items() for row in table.to_dict("records")]
        print(to_json(rows))
        return
    for id, table in tables.items():
        _print(id, table)


def _print(id: str, table: pd.DataFrame) -> None:
    """Print the table of one run."""
    from rich.table import Table

    printed = Table(title=f"run {id}", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column, values in table.items():
        printed.add_column(str(column), justify="right" if values.dtype.kind in "iuf" else "left", no_wrap=True)
    for row in table.itertuples(index=False):
        printed.add_row(*map(_word, row))
    # a narrow screen wraps lines rather than losing columns
    print_table(printed, 200, soft_wrap=True)


def _word(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
