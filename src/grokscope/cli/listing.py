"""The command list: what can be chosen by name, every setting, every column of the tables."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ..errors import ConfigError, nearest, nearest_setting
from .app import Json, app
from .completion import complete_among
from .printing import to_json

COMPONENTS = {
    "tasks": "tasks",
    "models": "models",
    "priors": "priors",
    "optimizers": "optim",
    "filters": "optim",
    "losses": "optim",
    "tickets": "tickets",
    "interventions": "interventions",
    "predictors": "forecast",
    "measures": "measures",
    "probes": "probes",
    "figures": "figures",
    "supports": "supports",
    "proposals": "searching.proposals",
    "schedules": "searching.schedules",
    "rivals": "searching.rivals",
    "accelerators": "race",
    "tracks": "race",
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

SETTINGS, COLUMNS = "settings", "columns"
CHOICES = (*COMPONENTS, *PARTS, SETTINGS, COLUMNS)
ROW_COLUMNS = {
    "run": "Id of the run.",
    "name": "Name that the user gave it; there only if any run has one.",
    "status": "running, stopped, failed, done, grokked or diverged.",
    "epoch": "Number of the epoch, or of the step in a loop of your own; the first evaluation is 0.",
    "seconds": "Seconds of training so far.",
    "seconds_per_step": "Seconds per optimizer step since the last evaluation.",
}
"""Columns of the table of evaluations that no measure makes."""

RESULTS = "grokscope.analysis.run_times, runs.parquet of results (one row per run)"
"""Title of the columns of an experiment's results."""

Rows = list[tuple[str, str, str]]
"""Name, default and meaning."""


@app.command(name="list")
def list_(
    component: Annotated[
        str | None,
        typer.Argument(
            metavar="COMPONENT",
            help="settings, columns; tasks, models, priors, optimizers, filters, losses, tickets, interventions, measures, probes, "
            "figures, predictors; a part of the transformer: attentions, positions, norms, mlps, readouts; or of a search: "
            "supports, proposals, schedules, rivals; of a race: accelerators, tracks. Without it, everything is listed.",
            autocompletion=complete_among(CHOICES),
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Show only this entry; of settings those that begin so, such as `prior`."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List what can be chosen by name, with every setting, its default and its meaning.

    grokscope list

    grokscope list tasks modular

    grokscope list settings stop

    grokscope list columns
    """
    if component is None:
        _everything(as_json)
    elif component == SETTINGS:
        _settings(name, as_json)
    elif component == COLUMNS:
        _columns(name, as_json)
    else:
        _component(component, name, as_json)


def _registry(component: str) -> tuple[Any, str]:
    """The registry of a component, and the setting that chooses an entry."""
    if component in PARTS:
        name_in_parts, prefix = PARTS[component]
        return getattr(importlib.import_module("grokscope.models.parts"), name_in_parts), prefix
    if component in COMPONENTS:
        registry = getattr(importlib.import_module(f"grokscope.{COMPONENTS[component]}"), component)
        return registry, f"search.{registry.field}" if "searching" in COMPONENTS[component] else registry.field
    raise ConfigError("list", f"unknown component {component!r}. {nearest(component, CHOICES)}")


def _component(component: str, name: str | None, as_json: bool) -> None:
    from ..describe import entry

    registry, prefix = _registry(component)
    entries = {name: registry.get(name)} if name else registry.entries()
    found = [entry(name, thing) for name, thing in entries.items()]
    if as_json:
        print(to_json(found))
        return
    for one in found:
        print(_wrapped(one["name"], ""))
        print(_wrapped(one["about"], "    "))
        rows = [(f"{prefix}.{own['name']}", str(own["default"]), own["meaning"]) for own in one.get("settings", [])]
        _print_rows(rows, "    ")


def _everything(as_json: bool) -> None:
    """Every component with its entries in a line each."""
    from ..describe import opening

    registries = {component: _registry(component)[0] for component in (*COMPONENTS, *PARTS)}
    registries["figures"].entries()  # imports the papers, which also register probes
    found = {
        component: {name: opening(thing) for name, thing in registry.entries().items()}
        for component, registry in registries.items()
    }
    if as_json:
        print(to_json(found))
        return
    for component, entries in found.items():
        print(f"{_bold(component)}")
        width = max(map(len, entries))
        for name, about in entries.items():
            print(_wrapped(f"{name:<{width}}  {about}", "    ", width + 2))
    print(
        "\n`grokscope list COMPONENT` explains the entries of one with their settings, `list settings` every setting of a run, "
        "`list columns` every column of the tables."
    )


def _settings(begins: str | None, as_json: bool) -> None:
    """Every setting of a run."""
    from ..config import RunConfig
    from ..describe import settings_of

    rows = [own for own in settings_of(RunConfig) if begins is None or _is_under(own["name"], begins)]
    if not rows:
        raise ConfigError(begins or "", f"no such setting. {nearest_setting(begins or '', RunConfig.names())}")
    if as_json:
        print(to_json(rows))
        return
    _print_rows([(own["name"], _shown(own["default"]), own["meaning"]) for own in rows], "")


def _is_under(name: str, begins: str) -> bool:
    return name == begins or name.startswith(f"{begins}.")


def column_meanings() -> dict[str, dict[str, str]]:
    """The columns of each table with their meanings; of measures, those that their docstrings list."""
    from ..describe import listed_terms
    from ..measures import measures
    from .run_columns import RUN_COLUMNS

    rows = dict(ROW_COLUMNS)
    for measure in measures.entries().values():
        rows |= listed_terms(measure)
    return {
        "grokscope runs (one row per run; --columns also takes any setting)": RUN_COLUMNS,
        "grokscope.load_runs, read_metrics (one row per evaluation; load_runs also has every setting)": rows,
    }


def columns_of_results() -> dict[str, str]:
    """The columns of the table of runs that an experiment stores, with their meanings; those of `run_times` among them."""
    from ..analysis.times import Times
    from ..describe import field_docs, listed_terms
    from ..experiments import collect

    docs = field_docs(Times) | {"tau_grok": inspect.getdoc(Times.tau_grok) or ""}
    for source in (collect, collect.measured, collect.priced, collect.counted):
        docs |= listed_terms(source)
    return docs


def _columns(name: str | None, as_json: bool) -> None:
    every = {**column_meanings(), RESULTS: columns_of_results()}
    tables = every
    if name is not None:
        tables = {table: found for table, own in tables.items() if (found := _meant(name, own))}
        if not tables:
            known = {column for own in every.values() for column in own}
            raise ConfigError(name, f"no such column. {nearest(name, known)}")
    if as_json:
        print(to_json(tables))
        return
    for table, columns in tables.items():
        print(_bold(table))
        _print_rows([(column, "", meaning) for column, meaning in columns.items()], "    ")


def _meant(name: str, columns: Mapping[str, str]) -> dict[str, str]:
    """The column of that name, or the one that stands for it: attention_{j} for attention_0."""
    for column, meaning in columns.items():
        parts = re.split(r"\{\w+\}", column)
        if name == column or re.fullmatch(r"\w+".join(map(re.escape, parts)), name):
            return {column: meaning}
    return {}


def _shown(default: Any) -> str:
    """A default as it would be written."""
    return "none" if default is None else '""' if default == "" else str(default)


def _print_rows(rows: Rows, indent: str) -> None:
    """Print names, defaults and meanings in columns; on a terminal the meanings are wrapped."""
    if not rows:
        return
    name_width = min(max(len(name) for name, *_ in rows), 28)
    default_width = min(max(len(default) for _, default, _ in rows), 14)
    for name, default, meaning in rows:
        head = f"{name:<{name_width}}  {default:<{default_width}}  " if default_width else f"{name:<{name_width}}  "
        print(_wrapped(head + meaning, indent, len(head) if len(head) < 44 else 8))


def _wrapped(text: str, indent: str, hanging: int = 0) -> str:
    """The text, on a terminal wrapped to its width."""
    line = f"{indent}{text}".rstrip()
    width = shutil.get_terminal_size().columns
    if not sys.stdout.isatty() or len(line) <= width:
        return line
    # only the meaning may be broken: what stands before it keeps its spaces
    head, rest = line[: len(indent) + hanging], line[len(indent) + hanging :]
    room = max(width - len(indent) - hanging, 24)
    lines = textwrap.wrap(rest, room)
    return ("\n" + " " * (len(indent) + hanging)).join([head + lines[0], *lines[1:]] if lines else [head])


def _bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text
