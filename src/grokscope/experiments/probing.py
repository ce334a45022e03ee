"""What probes find in the checkpoints of many runs; in several processes where one would take long."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

import pandas as pd

from ..errors import StoreError
from ..helpers import helpers
from ..probes import StoredRun, evaluate, few_threads
from ..store import RunInfo
from .base import all_experiments

ONE_SEED = ("masks", "neurons")
"""Probes that only pictures need and that fill much space: kept of the lowest seed alone."""
LONG = 20.0
"""Seconds of work from which processes are started: it takes seconds until they begin."""


def probe_tables(
    names: Sequence[str],
    runs: Sequence[RunInfo],
    arms: Sequence[str],
    processes: int = 1,
    known: Mapping[tuple[str, str], pd.DataFrame] | None = None,
) -> dict[str, pd.DataFrame]:
    """What each probe finds in the runs' checkpoints.

    processes   that may work at once
    known       tables that were found before, by probe and id of the run
    """
    first = min(run.config["seed"] for run in runs)
    asked = [
        (name, run, arm)
        for name in names
        for run, arm in zip(runs, arms, strict=True)
        if is_kept(name, run.config["seed"], first)
    ]
    found: dict[str, list[pd.DataFrame]] = {name: [] for name in names}
    tables = dict(known or {})
    rest = [(name, run) for name, run, _ in asked if (name, run.id) not in tables]
    tables |= {(name, run.id): table for (name, run), table in zip(rest, _evaluated(rest, processes), strict=True)}
    for name, run, arm in asked:
        found[name].append(tables[name, run.id].assign(run=run.id, arm=arm, seed=run.config["seed"]))
    return {
        name: pd.concat([own for own in looked if not own.empty] or looked, ignore_index=True)
        for name, looked in found.items()
    }


def is_kept(name: str, seed: int, first: int) -> bool:
    """Whether the table of a probe is stored for runs of a seed; `first` is the lowest."""
    return name not in ONE_SEED or seed == first


def _evaluated(asked: Sequence[tuple[str, RunInfo]], processes: int) -> list[pd.DataFrame]:
    """All of them, in this order: here, or with helpers once it is seen that it would take long."""
    tables: list[pd.DataFrame] = []
    begin = time.monotonic()
    for name, run in asked:
        tables.append(_evaluate(name, run))
        left = (time.monotonic() - begin) * (len(asked) / len(tables) - 1)
        if processes > 1 and left > LONG:
            break
    if rest := asked[len(tables) :]:
        with helpers(min(processes, len(rest))) as pool:
            tables += pool.map(evaluate_elsewhere, *zip(*rest, strict=True))
    return tables


def evaluate_elsewhere(name: str, run: RunInfo) -> pd.DataFrame:
    """The table of a probe, in a process that knows no experiment yet: some bring their own probes."""
    all_experiments()
    return _evaluate(name, run)


@few_threads()
def _evaluate(name: str, run: RunInfo) -> pd.DataFrame:
    """The table of a probe; no rows, and a line on stderr, for a diverged run that it cannot be evaluated on."""
    try:
        return evaluate(name, StoredRun(run))
    except StoreError as error:
        if run.status != "diverged":
            raise
        print(f"probe {name} omits {error}", file=sys.stderr)
        return pd.DataFrame()
