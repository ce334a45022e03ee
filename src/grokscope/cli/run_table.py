"""Stored runs as a table for people and as plain data for programs, and the selection of runs by their settings."""

from __future__ import annotations

import os
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, StoreError, nearest
from ..settings import flatten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..analysis import Criterion, Times
    from ..store import RunInfo

COLUMNS = 6
"""Most settings shown in a table of runs; the seed is the last of them."""
_ABSENT = object()
LEFT = ("run", "status")
"""Columns that are aligned to the left."""


def as_objects(found: Sequence[RunInfo], criterion: Criterion | None = None) -> list[dict[str, Any]]:
    """Runs as plain data: what `--json` prints. The times are those by the criterion, by default the default one.

    Runs that cannot be read have a "problem", and are named on stderr.
    """
    from ..analysis import DEFAULT

    criterion = criterion or DEFAULT
    times, problems = _times(found, criterion)
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
        more = {"reason": run.reason, "problem": problems.get(run.id, "")}
        objects.append(plain | {key: text for key, text in more.items() if text})
    _name(problems)
    return objects


def table_of_runs(found: Sequence[RunInfo], criterion: Criterion | None = None) -> None:
    """Print a table with a column for every setting in which the runs differ. The times are those by the criterion, by default
    the default one. Runs that cannot be read, and runs that failed, are named on stderr."""
    from ..analysis import DEFAULT, unreached_word

    criterion = criterion or DEFAULT
    if not found:
        print("no runs", file=sys.stderr)
        return
    times, problems = _times(found, criterion)
    columns = _differing([run.config for run in found if run.config])  # a damaged run has no settings
    differing, hidden = list(columns)[-COLUMNS:], list(columns)[:-COLUMNS]
    settings = zip(*([str(value) for value in columns[name]] for name in differing), strict=True)
    rows = [["run", *differing, "status", "epoch", "t_mem", "t_grok", "train", "test"]]
    for run in found:
        own = times.get(run.id)
        word = unreached_word(run.status if own else "damaged")
        when = [word if epoch is None else str(epoch) for epoch in ((own.t_mem, own.t_grok) if own else (None, None))]
        shares = [_share(run.summary.get(key)) for key in ("train_accuracy", "test_accuracy")]
        shown = next(settings) if run.config and differing else [""] * len(differing)
        rows.append([run.id, *shown, run.status, str(run.epoch), *when, *shares])
    _print_aligned(rows)
    print(f"t_mem: {criterion.describe('train accuracy')}; t_grok: {criterion.describe('test accuracy')}")
    if hidden:
        print(f"(also different: {', '.join(hidden)}; --json shows all)", file=sys.stderr)
    for run in found:
        if run.reason:
            print(f"run {run.id} failed at epoch {run.epoch}: {run.reason}", file=sys.stderr)
    _name(problems)


def _times(found: Sequence[RunInfo], criterion: Criterion) -> tuple[dict[str, Times], dict[str, str]]:
    """The times of the runs that can be read, and the problems of the others, both by id."""
    from ..analysis import times_of_each

    problems = {run.id: run.problem for run in found if run.problem}
    intact = [run for run in found if not run.problem]
    times: dict[str, Times] = {}
    for run, own in zip(intact, times_of_each(intact, criterion), strict=True):
        if isinstance(own, StoreError):
            problems[run.id] = str(own)
        else:
            times[run.id] = own
    return times, problems


def _name(problems: dict[str, str]) -> None:
    from ..store import omitted_lines

    for line in omitted_lines(problems, "cannot be read"):
        print(line, file=sys.stderr)


def _differing(tables: Sequence[dict[str, Any]], prefix: str = "") -> dict[str, list[Any]]:
    """The settings that all runs have and in which they differ, the kinds of components, and the seed, each with its values run
    by run.

    Component by component: thousands of runs differ in a few settings.
    """
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(chain.from_iterable(tables)):
        values = [table.get(name, _ABSENT) for table in tables]
        kinds = set(map(type, values))
        if len(kinds) == 1 and name != "seed" and values.count(values[0]) == len(values):
            continue
        if dict in kinds:  # a component; runs without it have none of its settings
            columns |= _differing([value if type(value) is dict else {} for value in values], f"{prefix}{name}.")
        elif name == "seed" or ((name == "kind" or object not in kinds) and len(set(map(str, values))) > 1):
            columns[f"{prefix}{name}"] = ["" if value is _ABSENT else value for value in values]
    return columns


def _print_aligned(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns, the first row bold on a terminal. Plain text: thousands of rows take an instant, and a narrow
    screen wraps lines rather than losing columns or the ends of numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = [name in LEFT for name in rows[0]]
    lines = [
        "  ".join(
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(row, widths, left, strict=True)
        )
        for row in rows
    ]
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        lines[0] = f"\033[1m{lines[0]}\033[0m"
    print("\n".join(lines))


def _share(value: Any) -> str:
    return f"{100 * value:.1f}%" if isinstance(value, (int, float)) else "–"


def matches(run: RunInfo, wanted: dict[str, str]) -> bool:
    """Whether a run has these settings; numbers are compared by value."""
    if not wanted:
        return True
    settings = flatten(run.config)
    for name, value in wanted.items():
        if settings and name not in settings:
            if name in {key.split(".")[0] for key in settings}:
                name = f"{name}.kind"
            else:
                raise ConfigError(name, f"no such setting. {nearest(name, settings)}")
        have = settings.get(name)
        if str(have) != value and not _equal_numbers(have, value):
            return False
    return True


def _equal_numbers(have: Any, value: str) -> bool:
    try:
        return float(have) == float(value)
    except (TypeError, ValueError):
        return False
