"""Numbers of a search, collected for every run of an experiment.

The run itself is plain training, with examples set aside; a search under the same splits, seed and folder is made when results are
collected: the searches of all runs of the experiment together, when the first number is asked for. So are the runs of all rivals. A
support counts as found if it is exactly the informative tokens of every training example.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import torch

from ...config import RunConfig, read_stored
from ...experiments.collected import Finished, collected
from ...fleet.splits import split_of
from ...searching import SearchSettings, Tournament
from ...searching.api import search_together
from ...searching.prepare import TIMES
from ...searching.rivals.base import Bout, Outcome, rivals
from ...searching.schedules.halving import Halving
from ...searching.settings import LARGEST
from ...searching.together import together
from ...searching.training import StoppedError, Trainer, local_trainer
from ...store import last_numerics, read_run
from ...supports.base import mask_of

KNOWN = 9
"""Where a sequence has so many tokens before the query or more, the search is given the number of informative ones."""
ENUMERATED = 2100
"""Most subsets that are all candidates; where there are more, the search has its default budget and proposes some of them."""


def settings_for(config: RunConfig) -> SearchSettings:
    """All subsets of up to four of fewer than 9 tokens, or of as many as matter, up to 2,100 of them; classes of symbols where
    placement is random."""
    tokens, k = config.task.shape.length - 1, getattr(config.task, "k", 2)
    if getattr(config.task, "placement", "fixed") == "random":
        return SearchSettings(family="classes")
    sizes = [k] if tokens >= KNOWN else range(1, LARGEST + 1)
    count = sum(math.comb(tokens, size) for size in sizes)
    steps = count * Halving().first_rung(config) * config.steps_per_epoch
    budget = max(TIMES * config.epochs * config.steps_per_epoch, 2 * steps) if count <= ENUMERATED else 0
    return SearchSettings(k=k if tokens >= KNOWN else None, budget=budget)


@functools.lru_cache(maxsize=4)
def tournaments_of(runs: str, ids: tuple[str, ...], device: str) -> dict[str, Tournament]:
    """The searches for stored runs by id, made side by side; what is stored of them is not trained again."""
    configs = _configs(runs, ids)
    found = search_together([(one, settings_for(one)) for one in configs.values()], runs=runs, device=device)
    if any(one.status != "finished" for one in found):  # what was measured is saved, and the same command continues
        raise KeyboardInterrupt
    return dict(zip(configs, found, strict=True))


def _searched(run: Finished) -> Tournament:
    runs, ids, device, _ = _experiment(run)
    return tournaments_of(runs, ids, device)[run.info.id]


def _experiment(run: Finished) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
    """Folder, ids of all runs of the experiment, device, and all numbers that are collected."""
    return str(run.info.path.parent), tuple(run.others), _device(run), run.asked


def _configs(runs: str, ids: tuple[str, ...]) -> dict[str, RunConfig]:
    """What is searched for each run."""
    infos = (read_run(Path(runs) / id) for id in ids)
    return {info.id: _searchable(read_stored(info.config, info.id)) for info in infos}


def _searchable(config: RunConfig) -> RunConfig:
    return replace(config, exact=False)  # candidates are continued from rung to rung


def _config(run: Finished) -> RunConfig:
    return _searchable(run.config)


def _device(run: Finished) -> str:
    return "cuda" if "gpu" in last_numerics(run.info.manifest) else "cpu"


def is_true(config: RunConfig, family: str, units: tuple[int, ...]) -> bool:
    """Whether a support is that of the task."""
    train = split_of(config.task, config.seed_for("data")).train
    return torch.equal(mask_of(family, units, train.inputs), train.marked)


@collected("search_found", trains=True)
def found(run: Finished) -> float | None:
    """1 if the search names the true support."""
    done = _searched(run)
    return float(done.support is not None and is_true(_config(run), done.family, tuple(done.support)))


@collected("search_claimed", trains=True)
def claimed(run: Finished) -> float | None:
    """1 if the search names any support."""
    return float(bool(_searched(run).found))


@collected("search_decided", trains=True)
def decided(run: Finished) -> float | None:
    """Run-steps of all candidates until one was chosen."""
    return float(_searched(run).decided["run_steps"])


@collected("search_steps", trains=True)
def steps(run: Finished) -> float | None:
    """Run-steps of all candidates until the winner passed 99 % test accuracy."""
    reached = _searched(run).outcome["generalised_run_steps"]
    return None if reached is None else float(reached)


@collected("search_sooner", trains=True)
def sooner(run: Finished) -> float | None:
    """1 if that took fewer run-steps than plain training; not decided where neither reached 99 %."""
    return fewer(
        _searched(run).outcome["generalised_run_steps"], _plain_steps(run), run.info.epoch * run.config.steps_per_epoch
    )


@collected("plain_sooner", trains=True)
def plain_sooner(run: Finished) -> float | None:
    """1 if plain training took fewer run-steps."""
    return fewer(_plain_steps(run), _searched(run).outcome["generalised_run_steps"], math.inf)


def fewer(own: float | None, other: float | None, horizon: float) -> float | None:
    """1 if `own` is smaller than `other`; None is later than `horizon`."""
    if own is None or (other is None and own > horizon):
        return None if other is None else 0.0
    return float(other is None or own < other)


def _plain_steps(run: Finished) -> float | None:
    reached = run.metrics.loc[run.metrics["test_accuracy"] >= 0.99 - 1e-6, "epoch"]
    return None if reached.empty else float(reached.iloc[0]) * run.config.steps_per_epoch


def outcomes_of(
    name: str, runs: str, ids: tuple[str, ...], device: str, asked: tuple[str, ...] = ()
) -> dict[str, Outcome]:
    """A rival for each of some stored runs, by id. It is trained with the others of which numbers are collected (`asked`)."""
    every = outcomes_together(beside(name, asked), runs, ids, device)
    return {id: every[name, id] for id in ids}


@functools.lru_cache(maxsize=16)
def outcomes_together(
    names: tuple[str, ...], runs: str, ids: tuple[str, ...], device: str
) -> dict[tuple[str, str], Outcome]:
    """Rivals for each of some stored runs, by name and id, side by side; each with as many run-steps as the plain run."""

    def task(name: str, config: RunConfig) -> Callable[[Trainer], Outcome]:
        steps, k = config.epochs * config.steps_per_epoch, settings_for(config).k
        return lambda trainer: rivals.get(name)().compete(Bout(config, steps, k, Path(runs), trainer.stored))

    each = {(name, id): task(name, config) for name in names for id, config in _configs(runs, ids).items()}
    try:
        found = together(list(each.values()), local_trainer(runs, device))
    except StoppedError:  # what was trained is saved, and the same command continues
        raise KeyboardInterrupt from None
    return dict(zip(each, found, strict=True))


def beside(name: str, asked: Iterable[str]) -> tuple[str, ...]:
    """The rivals that are trained together with one: all that train and that the experiment collects a number of."""
    others = {column.rpartition("_")[0] for column in asked}
    return tuple(other for other in TRAINED if other == name or other in others) if name in TRAINED else (name,)


def register_rival(name: str, trains: bool) -> None:
    """Columns <name>_found (1 if it names the true support), <name>_steps (run-steps to 99 % test accuracy), <name>_reached (1 if
    there are such), <name>_later (1 if the search took fewer) and <name>_missed (1 if the search names the true support and it
    does not)."""

    def outcome(run: Finished) -> Outcome:
        return outcomes_of(name, *_experiment(run))[run.info.id]

    @collected(f"{name}_found", trains=trains)
    def named(run: Finished) -> float | None:
        support = outcome(run).support
        return float(support is not None and is_true(_config(run), "positions", support))

    @collected(f"{name}_steps", trains=trains)
    def steps(run: Finished) -> float | None:
        reached = outcome(run).generalised
        return None if reached is None else float(reached)

    @collected(f"{name}_reached", trains=trains)
    def reached_99(run: Finished) -> float | None:
        return float(outcome(run).generalised is not None)

    @collected(f"{name}_later", trains=True)
    def later(run: Finished) -> float | None:
        own = _searched(run).outcome["generalised_run_steps"]
        horizon = run.config.epochs * run.config.steps_per_epoch
        return fewer(own, outcome(run).generalised, horizon)

    @collected(f"{name}_missed", trains=True)
    def missed(run: Finished) -> float | None:
        return float(found(run) == 1 and named(run) == 0)


TRAINED = ("entmax", "entropy", "hard-concrete", "stg", "teacher", "weight-decay")
SOLVERS = ("fourier", "gf2", "lasso")
for _name in (*TRAINED, *SOLVERS):
    register_rival(_name, trains=_name in TRAINED)
