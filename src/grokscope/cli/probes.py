"""The command that analyses kept checkpoints: probe."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .app import Json, Runs, app

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
    from ..probes import StoredRun, few_threads, probes

    if name is None:
        listed = [entry(name, probe) for name, probe in probes.entries().items()]
        print(json.dumps(listed, indent=1) if as_json else "\n".join(f"{p['name']:<10} {p['about']}" for p in listed))
        return
    look = probes.get(name)
    if not run:
        raise ConfigError("RUN", f"name the runs to analyse with probe {name}; `grokscope runs` lists them")
    with few_threads():
        tables = {stored.id: look(stored) for stored in (StoredRun.find(folder, id) for id in run)}
    if as_json:
        rows = [{"run": id, **row} for id, table in tables.items() for row in table.to_dict("records")]
        print(json.dumps(rows, indent=1, default=lambda matrix: b64encode(matrix).decode()))
        return
    for id, table in tables.items():
        _print(id, table)


def _print(id: str, table: pd.DataFrame) -> None:
    """Print the table of one run."""
    from rich.console import Console
    from rich.table import Table

    printed = Table(title=f"run {id}", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column, values in table.items():
        printed.add_column(str(column), justify="right" if values.dtype.kind in "iuf" else "left", no_wrap=True)
    for row in table.itertuples(index=False):
        printed.add_row(*map(_word, row))
    # a narrow screen wraps lines rather than losing columns
    Console(width=max(Console().width, 200)).print(printed, soft_wrap=True)


def _word(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
