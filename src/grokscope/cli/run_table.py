"""Stored runs as a table for people, and as CSV or plain data for programs.

On a terminal the table fits the width: what tells runs apart comes first, and columns that do not fit are named below. In a pipe
nothing is cut or left out.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..conditions import arms_of
from ..errors import ConfigError
from ..scores import either_score
from .run_columns import RunColumns, times_of

if TYPE_CHECKING:
    from ..analysis import Criterion
    from ..store import RunInfo

LEFT = ("run", "name", "tags", "status")
"""Columns that are aligned to the left, besides settings that are words."""
ENDING = ("seed", "status", "epoch", "t_mem", "t_grok", "train", "test")
"""Columns after the settings in which runs differ."""
DISPENSABLE = ("epoch", "train", "tags")
"""The first columns to go where a terminal is too narrow; then the settings become one column of arms."""
KIND, STRENGTH = "prior.kind", "prior.beta"
ARM = "arm"
LEAST = 12
"""Characters to which names and arms may be shortened."""
SHORTEST = 6
"""Characters of an id on a narrow terminal, if they are unique."""


def as_objects(found: Sequence[RunInfo], criterion: Criterion | None = None) -> list[dict[str, Any]]:
    """Runs as plain data: what `--json` prints. The times are those by the criterion, by default the default one.

    Runs that cannot be read have a "problem", and are named on stderr.
    """
    from ..analysis import DEFAULT

    criterion = criterion or DEFAULT
    times, problems = times_of(found, criterion)
    objects = []
    for run in found:
        own = times.get(run.id)
        plain = {
            "id": run.id,
            "config": run.config,
            "status": run.status,
            "epoch": run.epoch,
            "t_mem": own.t_mem if own else None,
            "t_grok": own.t_grok if own else None,
            "criterion": criterion.to_dict(),
            **{key: run.summary.get(key) for key in ("train_accuracy", "test_accuracy")},
        }
        more = {"name": run.name, "tags": list(run.tags), "reason": run.reason, "problem": problems.get(run.id, "")}
        objects.append(plain | {key: value for key, value in more.items() if value})
    _name(problems)
    return objects


def table_of_runs(
    found: Sequence[RunInfo],
    criterion: Criterion | None = None,
    *,
    columns: Sequence[str] = (),
    sort: str = "",
    as_csv: bool = False,
) -> None:
    """Print a table with a column for every setting in which the runs differ. The times are those by the criterion, by default
    the default one. Runs that cannot be read, and runs that failed, are named on stderr.

    columns   these instead, in this order
    sort      column to sort by; largest first after a minus sign
    """
    from ..analysis import DEFAULT

    criterion = criterion or DEFAULT
    if not found:
        print("no runs", file=sys.stderr)
        return
    values = RunColumns(found, criterion)
    chosen = [values.resolve(name, "--columns") for name in columns] or default_columns(found)
    if sort:
        found = _sorted(found, values, sort)
    if as_csv:
        _print_csv(found, values, chosen)
    else:
        hidden = _print_table(found, values, chosen, fit=not columns)
        if any(name.startswith(("t_mem", "t_grok")) for name in chosen):
            score = either_score(values.scores.values())
            print(f"t_mem: {criterion.describe(f'train {score}')}; t_grok: {criterion.describe(f'test {score}')}")
        if hidden:
            print(f"(not shown, since the terminal is narrow: {', '.join(hidden)}; see --columns)", file=sys.stderr)
    for run in found:
        if run.reason:
            print(f"run {run.id} failed at epoch {run.epoch}: {run.reason}", file=sys.stderr)
    _name(values.problems)


def default_columns(found: Sequence[RunInfo]) -> list[str]:
    """Id, name and tags if there are any, what tells the runs apart (kinds of components first), progress and times."""
    named = [key for key in ("name", "tags") if any(getattr(run, key) for run in found)]
    # a run that another program trained has its name among its settings too
    differing = [name for name in arms_of([run.config for run in found if run.config]).columns if name != "name"]
    if KIND in differing and STRENGTH not in differing:  # a run without a prior has a kind too, which has no effect
        differing.insert(differing.index(KIND) + 1, STRENGTH)
    return ["run", *named, *differing, *ENDING]


def _sorted(found: Sequence[RunInfo], values: RunColumns, sort: str) -> list[RunInfo]:
    """Sorted by a column, numbers by size and words by letter; runs without a value last."""
    column = values.resolve(sort.removeprefix("-"), "--sort")
    known = {run.id: values.value(run, column) for run in found}
    missing = [run for run in found if known[run.id] in (None, "")]
    there = [run for run in found if known[run.id] not in (None, "")]
    numbers = all(isinstance(known[run.id], (int, float)) for run in there)
    there.sort(key=lambda run: known[run.id] if numbers else str(known[run.id]), reverse=sort.startswith("-"))
    return [*there, *missing]


def _print_csv(found: Sequence[RunInfo], values: RunColumns, columns: Sequence[str]) -> None:
    """With whole names of settings; a missing value is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for run in found:
        row = (values.value(run, column) for column in columns)
        writer.writerow(["" if value is None else value for value in row])
    print(text.getvalue(), end="")


def _print_table(found: Sequence[RunInfo], values: RunColumns, columns: Sequence[str], *, fit: bool) -> list[str]:
    """Print the table and return the settings that were left out.

    fit   leave out columns, and shorten ids, until it fits the terminal, if it goes to one
    """
    headers = values.headers(columns)
    cells = {column: [headers[column], *(values.text(run, column) for run in found)] for column in columns}
    hidden: list[str] = []
    if fit and sys.stdout.isatty():
        cells, hidden = _fitted(cells, headers, found, shutil.get_terminal_size().columns)
    settings = [name for name in cells if name in values.settings]
    _print_aligned(cells, words={ARM, *(name for name in settings if _is_words(found, values, name))})
    return hidden


def _fitted(
    cells: dict[str, list[str]], headers: dict[str, str], found: Sequence[RunInfo], width: int
) -> tuple[dict[str, list[str]], list[str]]:
    """The columns that fit, and the headers of those that do not. The settings become one column of arms, before it is left out."""
    hidden = []
    for column in DISPENSABLE:
        if column in cells and _width(cells) > width:
            del cells[column]
            hidden.append(headers[column])
    settings = [name for name in cells if name not in (*LEFT, *ENDING)]
    if _width(cells) > width and settings:
        known = [run for run in found if run.config]
        arms = dict(zip((run.id for run in known), arms_of([run.config for run in known]).names, strict=True))
        kept = {name: column for name, column in cells.items() if name not in settings}
        first: dict[str, list[str]] = {name: kept.pop(name) for name in ("run", "name") if name in kept}
        cells = {**first, ARM: [ARM, *(arms.get(run.id, "") for run in found)], **kept}
    if _width(cells) > width and "run" in cells:
        cells["run"] = ["run", *_unique_beginnings([run.id for run in found])]
    for name, least in (("name", LEAST), (ARM, LEAST)):  # words are shortened in the end; ids and numbers never
        room = max(map(len, cells[name])) - (_width(cells) - width) if name in cells else 0
        if name in cells and _width(cells) > width:
            cells[name] = [_cut(cell, max(room, least)) for cell in cells[name]]
    return cells, hidden


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _width(cells: dict[str, list[str]]) -> int:
    return sum(max(map(len, column)) for column in cells.values()) + 2 * (len(cells) - 1)


def _unique_beginnings(ids: Sequence[str]) -> list[str]:
    """The shortest beginnings, of one length, that tell the ids apart."""
    length = next(n for n in range(SHORTEST, 1000) if len({id[:n] for id in ids}) == len(set(ids)))
    return [id[:length] for id in ids]


def _is_words(found: Sequence[RunInfo], values: RunColumns, column: str) -> bool:
    return any(isinstance(values.value(run, column), str) for run in found)


def _print_aligned(cells: dict[str, list[str]], words: set[str]) -> None:
    """Print the columns, their headers bold on a terminal. As plain text: thousands of rows take an instant."""
    columns = []
    for name, column in cells.items():
        width = max(map(len, column))
        to_left = name in LEFT or name in words
        columns.append([cell.ljust(width) if to_left else cell.rjust(width) for cell in column])
    lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        lines[0] = f"\033[1m{lines[0]}\033[0m"
    print("\n".join(lines))


def _name(problems: dict[str, str]) -> None:
    from ..store import omitted_lines

    for line in omitted_lines(problems, "cannot be read"):
        print(line, file=sys.stderr)


def check_one_format(**formats: bool) -> None:
    """Refuse two formats at once."""
    if sum(formats.values()) > 1:
        first, second = (f"--{name}" for name, chosen in formats.items() if chosen)
        raise ConfigError(first, f"cannot be combined with {second}")
