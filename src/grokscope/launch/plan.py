"""What trains together, and how many at once: pure functions of the runs' configs, free memory and cores.

A plan never changes a CPU run's bits: every run there computes by itself, whatever else trains beside it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import torch

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..tasks import Shape

T = TypeVar("T")

MOST_LANES = 512
"""Lanes of a fleet on a GPU that are worth having at once."""
FEW = 16
"""Lanes below which a step on a GPU takes hardly less time."""
MOST_WORKERS = {"cpu": 16, "cuda": 4}
"""Workers that are worth having."""
USABLE = 0.7
"""Of the free memory: the rest is for what the estimate does not know."""
PYTHON = 340_000_000
"""Multiply-adds of a worker's step that hide the Python code of another's; measured on two cores."""


def signature(config: RunConfig) -> str:
    """Equal for runs that differ only in seed, data, numbers that are the lanes' own, and when to log or stop."""
    parts = (config.model, config.optim, config.filter, config.prior, config.constraint, config.ticket, config.noise)
    # numbers that no program takes per lane must agree
    fixed = [part.lane_values() for part in (config.model, config.ticket)]
    structure = [part.structure() for part in parts]
    return json.dumps([*config.task.shape, *structure, *fixed, config.loss, config.batch_size, config.precision])


def pack(items: Iterable[tuple[RunConfig, T]]) -> list[list[T]]:
    """Items grouped by the signature of their configs, in the order of first appearance."""
    groups: dict[str, list[T]] = {}
    for config, item in items:
        groups.setdefault(signature(config), []).append(item)
    return list(groups.values())


def plan_workers(configs: Sequence[RunConfig], device: torch.device, cores: int, lanes: int | None = None) -> int:
    """How many fleets train side by side, each in a thread of its own.

    lanes   on a CPU, how many runs are to train at once; None chooses

    On a GPU, one fleet per signature: small fleets leave most of it idle. On a CPU, one run per worker; Python code runs in one
    worker at a time, so that more workers than the arithmetic of the others can hide would only wait for each other. Cores
    without a worker help with blocks of examples.
    """
    if device.type == "cuda":
        return min(MOST_WORKERS["cuda"], len({signature(config) for config in configs}))
    if lanes is not None:
        return min(lanes, len(configs))
    mean = sum(_multiply_adds(config) for config in configs) / len(configs)
    return max(1, min(MOST_WORKERS["cpu"], cores, len(configs), 1 + int(mean / PYTHON)))


def _multiply_adds(config: RunConfig) -> int:
    """Of a step, roughly: forward, and twice that backward."""
    shape = config.task.shape
    weights = sum(math.prod(p.shape) for p in config.model.parameters(shape).values())
    return 3 * (config.batch_size or shape.train_size) * weights


def fitting_lanes(config: RunConfig, runs: int, free: int, workers: int) -> int:
    """Lanes of one fleet on a GPU for `runs` such runs, when `workers` fleets share its `free` bytes.

    A GPU that has several fleets is full with half of a fleet's runs, and the other half can take the lanes of those that
    end early: fewer lanes are idle, and fewer smaller programs are recorded.
    """
    most = min(MOST_LANES, max(FEW, math.ceil(runs / 2))) if workers > 1 else MOST_LANES
    return min(max(int(USABLE * free / workers / lane_bytes(config)), 1), most)


def lane_bytes(config: RunConfig) -> int:
    """About what one lane takes: data, weights with their state and gradients, activations of a step and of an evaluation.

    A graph on a GPU keeps its activations, so that a step's and an evaluation's count both. Of each example, a matrix leaves
    its input and its output, at every position that the model computes; a step holds them twice (themselves and their
    gradients), an evaluation twice for the training set and once for the test set, but not both at the same time.
    """
    shape = config.task.shape
    parameters = config.ticket.with_scores(config.model.parameters(shape))
    weights = sum(math.prod(p.shape) for p in parameters.values())
    blank = torch.empty(weights)
    states = (*config.optim.init(blank, "matrix").values(), *config.filter.init(blank).values())
    per_weight = 10 * weights + 2 * sum(tensor.numel() for tensor in states)  # weights, gradients, and their successors
    everywhere = shape.length if getattr(config.model, "scope", "") != "query" and not shape.features else 1
    widths = sum(sum(p.shape[-2:]) for p in parameters.values() if len(p.shape) > 1)
    example = 4 * everywhere * (widths + 3 * shape.classes)
    step = 2 * (config.batch_size or shape.train_size) * example
    evaluation = max(2 * shape.train_size, shape.test_size) * example
    return 4 * per_weight + step + evaluation + _data_bytes(shape)


def _data_bytes(shape: Shape) -> int:
    """Numbers of an input, or of its plan of look-ups, with label, informative positions and target."""
    example = 4 * shape.features if shape.features else 8 * (3 * max(shape.length, shape.test_length))
    return (shape.train_size + shape.test_size) * (example + 16)
