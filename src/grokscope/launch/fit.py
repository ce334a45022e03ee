"""How many lanes fit into memory: an estimate from shapes, on the safe side for the models there are."""

from __future__ import annotations

import gc
import math
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..tasks import Shape

MOST = {"cpu": 16, "cuda": 512}
"""Lanes that are worth having at once."""
FEW = 16
"""Lanes below which a step on a GPU takes hardly less time."""
_USABLE = 0.7
"""Of the free memory: the rest is for what the estimate does not know."""


def fitting_lanes(config: RunConfig, runs: int, device: torch.device, free: int, workers: int) -> int:
    """Lanes of one fleet for `runs` such runs, when `workers` fleets share the `free` bytes of the device.

    A GPU that has several fleets is full with half of a fleet's runs, and the other half can take the lanes of those that
    end early: fewer lanes are idle, and fewer smaller programs are recorded.
    """
    most = MOST[device.type]
    if device.type == "cuda" and workers > 1:
        most = min(most, max(FEW, math.ceil(runs / 2)))
    fitting = int(_USABLE * free / workers / lane_bytes(config))
    return min(max(fitting, 1), most)


def free_memory(device: torch.device) -> int:
    """In bytes: of the GPU, or of the machine."""
    if device.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()  # what earlier fleets had is free again
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):  # not every system tells
        return 4 << 30


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
    look = max(2 * shape.train_size, shape.test_size) * example
    return 4 * per_weight + step + look + _data_bytes(shape)


def _data_bytes(shape: Shape) -> int:
    """Numbers of an input, or of its plan of look-ups, with label, informative positions and target."""
    example = 4 * shape.features if shape.features else 8 * (3 * max(shape.length, shape.test_length))
    return (shape.train_size + shape.test_size) * (example + 16)
