"""The command that looks into checkpoints: probe."""

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
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A probe; none lists them.")] = None,
    run: Annotated[list[str] | None, typer.Argument(metavar="RUN…", help="Ids of runs, or their beginnings.")] = None,
    folder: Runs = Path("runs"),
    as_json: Json = False,
) -> None:
    """What the kept checkpoints of runs tell: how masks change, which frequencies neurons use, what the logits owe to them.

    Runs keep checkpoints when they are trained with `log.keep`. `grokscope probe` alone lists the probes.

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
        raise ConfigError("RUN", f"name the runs that probe {name} should read; `grokscope runs` lists them")
    with few_threads():
        tables = {stored.id: look(stored) for stored in (StoredRun.find(folder, id) for id in run)}
    if as_json:
        rows = [{"run": id, **row} for id, table in tables.items() for row in table.to_dict("records")]
        print(json.dumps(rows, indent=1, default=lambda matrix: b64encode(matrix).decode()))
        return
    for id, table in tables.items():
        _print(id, table)


def _print(id: str, table: pd.DataFrame) -> None:
    """One run's table for people."""
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
