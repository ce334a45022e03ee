"""Times of the race, collected for every run: in steps, so that batches and full batches compare.

A run of the method `search` only carries settings: the search under its splits, seed and folder is made before the results are
collected (`grokscope race`) or here (`grokscope reproduce`), and the steps of all candidates count.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...analysis.times import stable_time
from ...config import RunConfig, Stop, read_stored
from ...experiments.collected import Finished, collected
from ...race.methods.search import Search
from ...race.tuning import StoppedError
from ...run import StoredRun
from ...searching import SearchSettings, Tournament
from ...searching.api import search_together
from ...searching.training import Trainer, local_trainer
from ...store import last_numerics, read_metrics, read_run
from ...thresholds import reaches
from ..search.found import settings_for

if TYPE_CHECKING:
    import pandas as pd

    from ...store import RunInfo

GOAL = 0.99


def is_search(config: RunConfig) -> bool:
    """Whether a run stands for a search."""
    return config.stop.accuracy == Search.settings["stop.accuracy"]


def race_settings(config: RunConfig) -> SearchSettings:
    """Those of the experiments of the search; a first rung that a small learning rate puts late is at half of the horizon."""
    own, half = settings_for(config), max(1, config.epochs // 2)
    late = own.schedule.first_rung(config) > half
    return own.with_values({"schedule.first": half}) if late else own


def searches_of(stored: Iterable[RunInfo]) -> tuple[RunConfig, ...]:
    """The configurations of the searches that some of these runs stand for."""
    every = [read_stored(info.config, info.id) for info in sorted(stored, key=lambda info: info.id)]
    return tuple(replace(config, exact=False, stop=Stop(extend=1.0)) for config in every if is_search(config))


_tournaments: dict[tuple[tuple[RunConfig, ...], str], dict[int, Tournament]] = {}
"""Searches made by this process, by their configurations and folder of runs."""


def tournaments_of(configs: tuple[RunConfig, ...], runs: str, trainer: Trainer) -> dict[int, Tournament]:
    """The searches of several seeds, by seed, made side by side; what is stored of them is not trained again."""
    key = (configs, runs)
    if key not in _tournaments:
        asked = [(config, race_settings(config)) for config in configs]
        found = search_together(asked, runs=runs, trainer=trainer)
        if any(one.status != "finished" for one in found):  # what was measured is saved, and the same command continues
            raise StoppedError
        _tournaments[key] = {config.seed: one for config, one in zip(configs, found, strict=True)}
    return _tournaments[key]


def _searched(run: Finished) -> Tournament:
    """The search of a run's seed. Those of all seeds of the experiment are made at once, if they were not before."""
    runs = str(run.info.path.parent)
    device = "cuda" if "gpu" in last_numerics(run.info.manifest) else "cpu"
    try:
        found = tournaments_of(_searches(runs, tuple(sorted(run.others))), runs, local_trainer(runs, device))
    except StoppedError:
        raise KeyboardInterrupt from None
    return found[run.config.seed]


@functools.lru_cache(maxsize=4)
def _searches(runs: str, ids: tuple[str, ...]) -> tuple[RunConfig, ...]:
    """Those of all runs of an experiment: the configs of hundreds of runs are read once, not for every number of every search."""
    return searches_of(read_run(Path(runs) / id) for id in ids)


def _rows(run: Finished) -> tuple[pd.DataFrame, int]:
    """The rows of the run that counts, and the steps that were taken beside it: of a search, the winner's run and the steps of the
    other candidates."""
    if not is_search(run.config):
        return run.metrics, 0
    found = _searched(run)
    assert found.winner is not None
    entry = found.entries[found.winner]
    rows = read_metrics(StoredRun.find(run.info.path.parent, entry.run).info).to_pandas()
    return rows, found.run_steps - entry.run_steps


def _crossing(run: Finished, threshold: float) -> float | None:
    table, before = _rows(run)
    reached = table.loc[reaches(table["test_accuracy"], threshold), "epoch"]
    return None if reached.empty else before + float(reached.iloc[0]) * run.config.steps_per_epoch


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
    table, before = _rows(run)
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
