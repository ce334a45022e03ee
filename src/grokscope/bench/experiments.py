"""Whole experiments: their runs trained as `reproduce` trains them, beside the rate of steps and evaluations of the same shapes."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..config.references import origins
from ..errors import ConfigError
from ..fleet import TrainingStats
from ..launch.local import train_all
from ..launch.plan import fitting_lanes, pack, plan_workers
from ..launch.scheduler import usable_cores
from ..ops.memory import free_memory
from .fleet import FleetLoop, free
from .measure import EPOCHS, Notify, Row, silent, timed
from .whole import LONGER

if TYPE_CHECKING:
    import torch

    from ..config import RunConfig

LEAST = 10
"""Evaluations of a shortened run, at least: it is opened and saved once."""


class Shape(NamedTuple):
    """Runs that train together."""

    configs: list[RunConfig]
    lanes: int
    step_s: float
    """Seconds of a run-step."""
    look_s: float
    """Seconds of an evaluation of one run."""

    def seconds(self, config: RunConfig) -> float:
        """Of one run: its steps and evaluations alone."""
        return config.epochs * config.steps_per_epoch * self.step_s + evaluations(config) * self.look_s


def whole_experiment(
    name: str, configs: Sequence[RunConfig], device: torch.device, *, seconds: float, notify: Notify = silent
) -> Row:
    """Time the steps and evaluations of every shape with the lanes that it trains with, then train all runs, and compare the rates.

    Runs train to their last epoch; if that would take longer than ten times `seconds`, all are shortened alike. Those that refer to
    other runs (tickets, branches, teachers) are left out, since there is nothing to refer to yet. Start-up is not counted: the
    process runs already, and the kernels are compiled.
    """
    own = [replace(config, stop=replace(config.stop, accuracy=0.0)) for config in configs if not origins(config)]
    if not own:
        raise ConfigError("--experiment", f"every run of {name} refers to another; there is none to train by itself")
    shapes = timed_shapes(name, own, device, seconds, notify)
    expected = sum(shape.seconds(config) for shape in shapes for config in shape.configs)
    share = min(1.0, LONGER * seconds / expected)
    shapes = [shape._replace(configs=[shortened(config, share) for config in shape.configs]) for shape in shapes]
    kept = [config for shape in shapes for config in shape.configs]
    share = sum(config.epochs for config in kept) / sum(config.epochs for config in own)
    notify(f"{len(own)} runs of {name}, {share:.0%} of their epochs")
    stats = TrainingStats()
    with tempfile.TemporaryDirectory() as folder:
        train_all(kept, device=str(device), runs=folder, stats=stats)
    expected = sum(shape.seconds(config) for shape in shapes for config in shape.configs)
    return {
        "experiment": name,
        "precision": own[0].precision,
        "runs": len(own),
        "left_out": len(configs) - len(own),
        "lanes": [shape.lanes for shape in shapes],
        "epochs": share,
        "run_steps": stats.run_steps,
        "seconds": stats.seconds,
        "run_steps_per_s": stats.run_steps / stats.seconds,
        "bench_run_steps_per_s": stats.run_steps / expected,
        "of_bench": expected / stats.seconds,
    }


def evaluations(config: RunConfig) -> int:
    """How often a run is evaluated: before the first step, at the epochs of its log, and at the last."""
    epoch, count = 0, 1
    while epoch < config.epochs:
        epoch, count = min(config.log.next_after(epoch), config.epochs), count + 1
    return count


def shortened(config: RunConfig, share: float) -> RunConfig:
    """The run with a share of its epochs, in whole intervals of evaluation and at least ten of them, if it has so many."""
    intervals = max(LEAST, round(share * config.epochs / config.log.every))
    return replace(config, epochs=min(config.epochs, intervals * config.log.every))


def timed_shapes(
    name: str,
    configs: Sequence[RunConfig],
    device: torch.device,
    seconds: float,
    notify: Notify = silent,
    lanes: int | None = None,
) -> list[Shape]:
    """The runs by shape, each timed with as many lanes as it trains with; none of them refers to another.

    name   what they are called in notices
    lanes  as `train_all` takes them
    """
    memory, workers = free_memory(device), plan_workers(configs, device, usable_cores(), lanes)
    found: list[Shape] = []
    for group in pack((config, config) for config in configs):
        first = group[0]
        fitting = workers if device.type == "cpu" else lanes or fitting_lanes(first, len(group), memory, workers)
        count = min(fitting, len(group))
        notify(f"{count} lanes of {name} ({len(found) + 1})")
        loop = FleetLoop(first, count, device)
        step, look = timed(partial(loop.train, EPOCHS), loop.evaluate, seconds, device)
        loop.close()
        del loop
        free(device)
        found.append(Shape(group, count, step / EPOCHS / first.steps_per_epoch / count, look / count))
    return found
