"""Whole work: a sweep with everything around the steps (opening runs, evaluations, saving), at the lane counts that were timed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..fleet import TrainingStats
from ..launch.local import train_all
from .measure import Notify, Row, in_precision, silent

if TYPE_CHECKING:
    import torch

    from ..config import RunConfig

LONGER = 10
"""How much longer a sweep trains than one measurement of the fleet, at least: a run is opened and saved once."""


def sweeps(
    config: RunConfig, rows: Iterable[Row], device: torch.device, *, seconds: float, notify: Notify = silent
) -> list[Row]:
    """Train as many runs as each row of the fleet has lanes, as `sweep` does, and compare the rates.

    Start-up is left out: the process runs already, and the kernels are compiled.
    """
    found = []
    for row in rows:
        if row["run_steps_per_s"] is None:
            continue
        own, lanes = in_precision(config, row["precision"]), row["lanes"]
        notify(f"a sweep of {lanes} runs, {own.precision}")
        epochs = _epochs(own, row["run_steps_per_s"] * LONGER * seconds / lanes)
        rate = _rate(replace(own, epochs=epochs), lanes, device)
        part = {name: row[name] for name in ("precision", "lanes")}
        found.append(part | {"epochs": epochs, "run_steps_per_s": rate, "of_bench": rate / row["run_steps_per_s"]})
    return found


def _epochs(config: RunConfig, steps: float) -> int:
    """At least the steps of each run, in whole intervals of evaluation; at least ten of them."""
    every = config.log.every
    return every * max(10, round(steps / config.steps_per_epoch / every))


def _rate(config: RunConfig, lanes: int, device: torch.device) -> float:
    to_the_end = replace(config, stop=replace(config.stop, accuracy=0.0))
    stats = TrainingStats()
    with tempfile.TemporaryDirectory() as folder:
        configs = [replace(to_the_end, seed=config.seed + lane) for lane in range(lanes)]
        train_all(configs, device=str(device), runs=folder, stats=stats)
    return stats.run_steps / stats.seconds
