"""Times of the race, collected for every run: in steps, so that batches and full batches compare.

A run of the method `search` only carries settings: the search under its splits, seed and folder is made here, and the steps of all
candidates count.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from ...analysis.times import stable_time
from ...config import RunConfig, Stop
from ...experiments.collected import Finished, collected
from ...race.methods.search import Search
from ...run import StoredRun
from ...searching import Tournament, search
from ...store import last_numerics, read_metrics
from ...thresholds import reaches
from ..search.found import settings_for

GOAL = 0.99


def is_search(config: RunConfig) -> bool:
    """Whether a run stands for a search."""
    return config.stop.accuracy == Search.settings["stop.accuracy"]


@functools.lru_cache(maxsize=64)
def tournament_of(config: RunConfig, runs: str, device: str) -> Tournament:
    """The search; what is stored of it is not trained again."""
    return search(config, settings=settings_for(config), runs=runs, device=device)


def _searched(run: Finished) -> Tournament:
    config = replace(run.config, exact=False, stop=Stop(extend=1.0))
    device = "cuda" if "gpu" in last_numerics(run.info.manifest) else "cpu"
    return tournament_of(config, str(run.info.path.parent), device)


def _crossing(run: Finished, threshold: float) -> float | None:
    table = run.metrics
    if is_search(run.config):
        found = _searched(run)
        table, before = _winner(run, found)
    else:
        before = 0
    reached = table.loc[reaches(table["test_accuracy"], threshold), "epoch"]
    return None if reached.empty else before + float(reached.iloc[0]) * run.config.steps_per_epoch


def _winner(run: Finished, found: Tournament):  # type: ignore[no-untyped-def]
    """The rows of the winner's run, and the steps of the other candidates."""
    assert found.winner is not None
    entry = found.entries[found.winner]
    rows = read_metrics(StoredRun.find(run.info.path.parent, entry.run).info).to_pandas()
    return rows, found.run_steps - entry.run_steps


@collected("race_first")
def first(run: Finished) -> float | None:
    """Steps to the first evaluation at or above 99 % test accuracy."""
    return _crossing(run, GOAL)


@collected("race_first_95")
def first_95(run: Finished) -> float | None:
    """Steps to the first evaluation at or above 95 % test accuracy."""
    return _crossing(run, 0.95)


@collected("race_stable")
def stable(run: Finished) -> float | None:
    """Steps from which 99 % was never lost again."""
    table, before = _winner(run, _searched(run)) if is_search(run.config) else (run.metrics, 0)
    reached = stable_time(table["epoch"], table["test_accuracy"], GOAL)
    return None if reached is None else before + float(reached) * run.config.steps_per_epoch


@collected("race_end")
def end(run: Finished) -> float | None:
    """Steps that were trained: a run without a time is censored there."""
    if is_search(run.config):
        return float(_searched(run).run_steps)
    return float(run.info.epoch * run.config.steps_per_epoch)


@collected("race_steps_per_epoch")
def steps_per_epoch(run: Finished) -> float | None:
    """Optimizer steps per epoch."""
    return float(run.config.steps_per_epoch)


COLLECTED = ("race_first", "race_first_95", "race_stable", "race_end", "race_steps_per_epoch")
