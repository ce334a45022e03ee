"""The pages of settings and of columns, from docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from grokscope.analysis import Times
from grokscope.cli.listing import ROW_COLUMNS
from grokscope.config import RunConfig
from grokscope.describe import _field_docs, entry, listed_terms, settings_of
from grokscope.measures import measures
from grokscope.optim import losses
from grokscope.registry import Registry

from .markdown import plain

SETTINGS = """# Settings

Every setting of a run, with its default. On the command line a setting is `--set NAME=VALUE`; in a TOML file it is a line of its
table (`[task]`, `p = 97`); in a grid its value is a list. Unless stated otherwise a setting is part of the run's id.
`grokscope list COMPONENT` prints the same, entries of your own included.
"""
LISTED = re.compile(r"([A-Za-z][\w{}]*) {2,}(\S.*)")
"""A line of a docstring with a column and its meaning."""
COLUMNS = """# Columns

`grokscope.load_runs` returns one table for all runs, with one row per evaluation. It has the settings of the run as columns
with their dotted names (`task.p`, [settings](settings.md)), and the columns below. What a model or a task does not have is missing
in its rows.
"""


def settings_page() -> str:
    """Settings of the run itself, then one section per component with its entries."""
    components = RunConfig.component_fields()
    own = {f.name for f in fields(RunConfig)} - set(components)
    rows = [(row["name"], row["default"], row["meaning"]) for row in settings_of(RunConfig) if row["name"] in own]
    lines = [SETTINGS, "## The run", "", *_table(rows), ""]
    for name, held in components.items():
        if held.registry is None:
            lines += [f"## {name}", "", _about(held.default), ""]
            lines += [*_table(_prefixed(name, settings_of(held.default))), ""]
        else:
            lines += _registry(name, held.registry, held.default.kind)
    lines += ["## loss", ""]
    return "\n".join([*lines, *(f"- `{one['name']}`: {plain(one['about'])}" for one in _entries(losses)), ""])


def _registry(name: str, registry: Registry[Any], default: str) -> list[str]:
    """All entries that a component can be; settings that all of them have are listed once."""
    found = _entries(registry)
    common = [row for row in found[0]["settings"] if all(row in one["settings"] for one in found)]
    kinds = ", ".join(f"`{one['name']}`" for one in found)
    lines = [f"## {name}", "", f"`{name}.kind` is one of {kinds}; `{default}` by default."]
    if common and len(found) > 1:
        lines += ["", "All of them have:", "", *_table(_prefixed(name, common))]
    for one in found:
        rows = one["settings"] if len(found) == 1 else [row for row in one["settings"] if row not in common]
        lines += [
            "",
            f"### {name}: {one['name']}",
            "",
            plain(one["about"]),
            *(["", *_table(_prefixed(name, rows))] if rows else []),
        ]
    return [*lines, ""]


def _entries(registry: Registry[Any]) -> list[dict[str, Any]]:
    return [entry(name, thing) for name, thing in registry.entries().items()]


def _prefixed(prefix: str, rows: Iterable[dict[str, Any]]) -> list[tuple[str, Any, str]]:
    return [(f"{prefix}.{row['name']}", row["default"], row["meaning"]) for row in rows]


def _about(thing: Any) -> str:
    return plain((inspect.getdoc(thing) or "").split("\n\n")[0])


def _table(rows: Iterable[tuple[str, Any, str]]) -> list[str]:
    cells = (f"| `{name}` | {_value(default)} | {plain(meaning)} |" for name, default, meaning in rows)
    return ["| setting | default | meaning |", "|---|---|---|", *cells]


def _value(value: Any) -> str:
    return "" if value in (None, "") else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def columns_page() -> str:
    """Columns by the measure that they come from, and the times that are found from them."""
    lines = [COLUMNS, "## Every row", "", "| column | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {plain(meaning)} |" for name, meaning in ROW_COLUMNS.items()]
    for name, measure in measures.entries().items():
        terms = listed_terms(measure)
        paragraphs = (inspect.getdoc(measure) or "").split("\n\n")
        told = [part for part in paragraphs if not any(part.lstrip().startswith(f"{term} ") for term in terms)]
        lines += ["", f"## Measure: {name}", "", *(plain(part) + "\n" for part in told if part)]
        lines += ["| column | meaning |", "|---|---|"]
        lines += [f"| `{column}` | {plain(meaning)} |" for column, meaning in terms.items()]
    lines += [
        "",
        "## Times of a run",
        "",
        "Found from the rows by a [criterion](../concepts/clocks.md); columns of the tables of runs.",
    ]
    lines += ["", "| column | meaning |", "|---|---|"]
    docs = _field_docs(Times)
    lines += [f"| `{f.name}` | {plain(docs[f.name])} |" for f in fields(Times)]
    tau = plain(inspect.getdoc(Times.tau_grok) or "")
    return "\n".join([*lines, f"| `tau_grok` | {tau} |", ""])
