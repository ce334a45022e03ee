"""Numbers of a search, collected for every run of an experiment.

The run itself is plain training, with examples set aside; a search under the same splits, seed and folder is made when results are
collected. A support counts as found if it is exactly the informative tokens of every training example.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ...experiments.collected import Finished, collected
from ...launch.local import train_all
from ...searching import SearchSettings, Tournament, search
from ...searching.api import quiet_stages
from ...searching.prepare import TIMES
from ...searching.rivals.base import Bout, Outcome, rivals
from ...searching.schedules.halving import Halving
from ...searching.settings import LARGEST
from ...store import last_numerics
from ...supports.base import mask_of

if TYPE_CHECKING:
    from ...config import RunConfig

KNOWN = 9
"""Where a sequence has so many tokens before the query or more, the search is given the number of informative ones."""


@functools.lru_cache(maxsize=64)
def tournament_of(config: RunConfig, runs: str, device: str) -> Tournament:
    """The search for a run; what is stored of it is not trained again."""
    return search(config, settings=settings_for(config), runs=runs, device=device)


def settings_for(config: RunConfig) -> SearchSettings:
    """All subsets of up to four of fewer than 9 tokens, or of as many as matter; classes of symbols where placement is random."""
    tokens, k = config.task.shape.length - 1, getattr(config.task, "k", 2)
    if getattr(config.task, "placement", "fixed") == "random":
        return SearchSettings(family="classes")
    sizes = [k] if tokens >= KNOWN else range(1, LARGEST + 1)
    steps = sum(math.comb(tokens, size) for size in sizes) * Halving().first_rung(config) * config.steps_per_epoch
    return SearchSettings(k=k if tokens >= KNOWN else None, budget=max(TIMES * config.epochs, 2 * steps))


def _searched(run: Finished) -> Tournament:
    return tournament_of(_config(run), str(run.info.path.parent), _device(run))


def _config(run: Finished) -> RunConfig:
    return replace(run.config, exact=False)  # candidates are continued from rung to rung


def _device(run: Finished) -> str:
    return "cuda" if "gpu" in last_numerics(run.info.manifest) else "cpu"


def is_true(config: RunConfig, family: str, units: tuple[int, ...]) -> bool:
    """Whether a support is that of the task."""
    train = config.task.split(config.seed_for("data")).train
    return torch.equal(mask_of(family, units, train.inputs), train.marked)


@collected("search_found")
def found(run: Finished) -> float | None:
    """1 if the search names the true support."""
    done = _searched(run)
    return float(done.support is not None and is_true(_config(run), done.family, tuple(done.support)))


@collected("search_claimed")
def claimed(run: Finished) -> float | None:
    """1 if the search names any support."""
    return float(bool(_searched(run).found))


@collected("search_decided")
def decided(run: Finished) -> float | None:
    """Run-steps of all candidates until one was chosen."""
    return float(_searched(run).decided["run_steps"])


@collected("search_steps")
def steps(run: Finished) -> float | None:
    """Run-steps of all candidates until the winner passed 99 % test accuracy."""
    reached = _searched(run).outcome["generalised_run_steps"]
    return None if reached is None else float(reached)


@collected("search_sooner")
def sooner(run: Finished) -> float | None:
    """1 if that took fewer run-steps than plain training; not decided where neither reached 99 %."""
    return fewer(
        _searched(run).outcome["generalised_run_steps"], _plain_steps(run), run.info.epoch * run.config.steps_per_epoch
    )


@collected("plain_sooner")
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


@functools.lru_cache(maxsize=512)
def rival_of(name: str, config: RunConfig, runs: str, device: str) -> Outcome:
    """A rival with as many run-steps as the plain run."""

    def train(configs, names):  # type: ignore[no-untyped-def]
        return train_all(configs, runs=runs, device=device, notify=quiet_stages)

    own = settings_for(config)
    return rivals.get(name)().compete(Bout(config, config.epochs * config.steps_per_epoch, own.k, Path(runs), train))


def register_rival(name: str) -> None:
    """Columns <name>_found (1 if it names the true support) and <name>_later (1 if the search took fewer run-steps)."""

    def outcome(run: Finished) -> Outcome:
        return rival_of(name, _config(run), str(run.info.path.parent), _device(run))

    @collected(f"{name}_found")
    def named(run: Finished) -> float | None:
        support = outcome(run).support
        return float(support is not None and is_true(_config(run), "positions", support))

    @collected(f"{name}_later")
    def later(run: Finished) -> float | None:
        own = _searched(run).outcome["generalised_run_steps"]
        horizon = run.config.epochs * run.config.steps_per_epoch
        return fewer(own, outcome(run).generalised, horizon)


TRAINED = ("entmax", "entropy", "hard-concrete", "stg", "teacher", "weight-decay")
SOLVERS = ("fourier", "gf2", "lasso")
for _name in (*TRAINED, *SOLVERS):
    register_rival(_name)
