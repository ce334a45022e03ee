"""Settings of a run that none of the runs that a predictor learned from has: a regression says nothing there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..config import RunConfig
from ..settings import flatten

if TYPE_CHECKING:
    from ..store.results import Results

IGNORED = ("seed", "data_seed", "init_seed", "order_seed", "epochs", "exact", "precision")
"""Settings that a forecast does not depend on; nor on those of `log` and `stop`."""
NAMED = 6
"""Settings that are named; of more the number is said."""


def outside(config: RunConfig, pool: dict[str, Results], learned: Collection[str]) -> list[str]:
    """`task.p = 37 (learned from 113)` for each setting that lies outside those of the runs that were learned from.

    learned   ids of these runs
    """
    usual, own = flatten(RunConfig().to_dict()), flatten(config.to_dict())
    tables = [results.runs[results.runs["run"].isin(learned)] for results in pool.values()]
    found: list[str] = []
    other_kinds: list[str] = []
    for name, value in own.items():
        ignored = name in IGNORED or name.startswith(("log.", "stop.", *other_kinds))
        if ignored:
            continue
        seen = _seen(name, usual.get(name), [table for table in tables if len(table)])
        if not _inside(value, seen):
            found.append(f"{name} = {_said(value)} (learned from {_span(seen)})")
            if name.endswith("kind"):  # its other settings are those of another component
                other_kinds.append(name.removesuffix("kind"))
    return found


def in_words(reasons: list[str]) -> str:
    """The reasons in one clause."""
    rest = len(reasons) - NAMED
    more = f" and {rest} other setting{'s' * (rest > 1)}" if rest > 0 else ""
    return ", ".join(reasons[:NAMED]) + more


def _seen(name: str, usual: Any, tables: Iterable[pd.DataFrame]) -> list[Any]:
    """The values that a setting has in these runs; results leave out settings that have their defaults in all runs."""
    values: list[Any] = []
    for table in tables:
        own = table[name].drop_duplicates().tolist() if name in table else [usual]
        values += [usual if value is None or value is pd.NA or value != value else value for value in own]
    return list(dict.fromkeys(map(_plain, values)))


def _plain(value: Any) -> Any:
    """A value as it can be compared: tables hold numbers as text where a column has words too."""
    if isinstance(value, bool) or value is None:
        return str(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


def _inside(value: Any, seen: list[Any]) -> bool:
    own = _plain(value)
    numbers = [one for one in seen if isinstance(one, float)]
    if isinstance(own, float):
        return bool(numbers) and min(numbers) <= own <= max(numbers)
    return own in seen


def _span(seen: list[Any]) -> str:
    numbers = sorted(one for one in seen if isinstance(one, float))
    words = [one for one in seen if not isinstance(one, float)]
    if len(numbers) > 1:
        words = [f"{numbers[0]:g} to {numbers[-1]:g}", *words]
    elif numbers:
        words = [f"{numbers[0]:g}", *words]
    return ", ".join(words)


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
