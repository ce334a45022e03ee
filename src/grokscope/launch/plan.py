"""Which runs train together, and how many at once: pure functions of the configs, free memory and cores.

A plan never changes the bits of a run on a CPU: each run is computed independently of the others.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import torch

from ..config import RunConfig
from ..errors import ConfigError, GrokscopeError
from ..fleet.division import is_dense, multiply_adds
from ..ops.memory import is_out_of_memory
from ..settings import Settings, flatten

if TYPE_CHECKING:
    from ..tasks import Shape

T = TypeVar("T")

SAMPLE = 1024
"""Weights for which the size of an optimizer's state is asked."""
ACTIVATIONS_KEPT = 4
"""Of the estimated activations, about one in so many is needed at the least."""

MOST_LANES = 512
"""Maximum number of lanes of a fleet on a GPU."""
FEW = 16
"""Number of lanes below which a step on a GPU is not noticeably faster."""
MANY = 256
"""Runs of one signature that a GPU trains in two fleets: one trains while the runs of the other are opened or saved."""
MOST_WORKERS = {"cpu": 16, "cuda": 4}
"""Maximum number of workers."""
USABLE = 0.7
"""Fraction of the free memory to use; the estimate is not exact."""
PYTHON = 340_000_000
"""Multiply-adds of a worker's step that hide the Python code of another worker; measured on two cores."""
PYTHON_DENSE = 50_000_000
"""The same where the step is an ordinary forward and backward pass over all examples: PyTorch runs most of it."""


Known = dict[int, tuple[Settings, str]]
"""Components by their address, each with its part of a signature."""


def signature(config: RunConfig, known: Known | None = None) -> str:
    """Equal for runs that differ only in seed, data, per-lane hyperparameters, and when to log or stop.

    known   filled with the components of the configs so far; those that they share are read once
    """
    known = {} if known is None else known
    parts = []
    for name in ("model", "optim", "filter", "prior", "constraint", "ticket", "noise", "do"):
        part: Settings = getattr(config, name)
        if id(part) not in known:
            # numbers that no program takes per lane must agree
            fixed = part.lane_values() if name in ("model", "ticket") else {}
            known[id(part)] = (part, json.dumps([part.structure(), fixed]))
        parts.append(known[id(part)][1])
    return "\n".join(map(str, (*config.task.shape, *parts, config.loss, config.batch_size, config.precision)))


def pack(items: Iterable[tuple[RunConfig, T]]) -> list[list[T]]:
    """Items grouped by the signature of their configs, in the order of first appearance."""
    groups: dict[str, list[T]] = {}
    known: Known = {}
    for config, item in items:
        groups.setdefault(signature(config, known), []).append(item)
    return list(groups.values())


def plan_workers(configs: Sequence[RunConfig], device: torch.device, cores: int, lanes: int | None = None) -> int:
    """Number of fleets that train in parallel, each in its own thread.

    lanes   on a CPU, how many runs train at once; None chooses a number

    On a GPU, one fleet per signature, since small fleets leave most of it idle; two for many runs. On a CPU, one run per worker;
    Python code runs in one worker at a time, so additional workers pay off only while the arithmetic of the others hides it. Cores
    without a worker help with blocks of examples.
    """
    if device.type == "cuda":
        least = 2 if lanes is None and len(configs) >= MANY else 1
        return min(MOST_WORKERS["cuda"], max(least, len(pack((config, config) for config in configs))))
    if lanes is not None:
        return min(lanes, len(configs))
    hidden = sum(multiply_adds(config) / (PYTHON_DENSE if is_dense(config) else PYTHON) for config in configs)
    return max(1, min(MOST_WORKERS["cpu"], cores, len(configs), 1 + int(hidden / len(configs))))


def fitting_lanes(config: RunConfig, runs: int, free: int, workers: int) -> int:
    """Lanes of one fleet on a GPU for `runs` such runs, when `workers` fleets share its `free` bytes.

    A GPU with several fleets is busy with half of each fleet's runs, and the other half can take the lanes of runs that
    finish early: fewer lanes are idle, and fewer smaller programs are recorded. Where the lanes are filled several times, they are
    as many as the last time fills, too.
    """
    most = min(MOST_LANES, max(FEW, math.ceil(runs / 2))) if workers > 1 else MOST_LANES
    lanes = min(max(int(USABLE * free / workers / lane_bytes(config)), 1), most)
    if runs <= lanes * workers:
        return lanes
    return math.ceil(runs / (workers * math.ceil(runs / (lanes * workers))))


def lane_bytes(config: RunConfig) -> int:
    """Estimated memory of one lane: data, weights with their state and gradients, activations of a step and of an evaluation.

    A graph on a GPU keeps its activations, so those of a step and of an evaluation both count. For each example, a matrix stores
    its input and its output at every position that the model computes; a step holds them twice (values and gradients), an
    evaluation twice for the training set and once for the test set, but not both at the same time.
    """
    return sum(_parts(config, kept=10, copies=2))


def checkpoint_bytes(config: RunConfig) -> int:
    """Size of what a run continues from: its weights with the state of optimizer and filter."""
    return _parts(config, kept=1, copies=1)[0]


def least_bytes(config: RunConfig) -> int:
    """Estimated memory that a run needs at the least, from its settings alone: an order of magnitude.

    Weights, gradients, the state of the optimizer and of the filter, and the data are counted once; of the activations a
    quarter, since fused operations keep only some, and evaluations are done in blocks.
    """
    weights, activations, data = _parts(config, kept=2, copies=1)
    return weights + activations // ACTIVATIONS_KEPT + data


def _parts(config: RunConfig, *, kept: int, copies: int) -> tuple[int, int, int]:
    """Bytes of weights with their state, of activations, and of data.

    kept     copies of the weights, gradients included
    copies   copies of the optimizer's and the filter's state
    """
    shape = config.task.shape
    parameters = config.ticket.with_scores(config.model.parameters(shape))
    weights = sum(math.prod(p.shape) for p in parameters.values())
    per_weight = kept * weights + copies * weights * _state_size(config) // SAMPLE
    everywhere = shape.length if getattr(config.model, "scope", "") != "query" and not shape.features else 1
    widths = sum(sum(p.shape[-2:]) for p in parameters.values() if len(p.shape) > 1)
    example = 4 * everywhere * (widths + 3 * shape.classes)
    step = 2 * (config.batch_size or shape.train_size) * example
    evaluation = max(2 * shape.train_size, shape.test_size + shape.validation_size) * example
    return 4 * per_weight, step + evaluation, _data_bytes(shape)


def _state_size(config: RunConfig) -> int:
    """Numbers that the optimizer and the filter keep for SAMPLE weights. Nothing large is allocated."""
    numbers = [getattr(part, f.name) for part in (config.optim, config.filter) for f in dataclasses.fields(part)]
    large = any(
        isinstance(number, int) and number > SAMPLE for number in numbers
    )  # such as the steps in a moving average
    # Meta tensors take no memory, but a second to import; and an optimizer of a user's own may read values, which they do not have.
    for device in ("meta", "cpu") if large else ("cpu",):
        blank = torch.empty(SAMPLE, device=device)
        try:
            states = (*config.optim.init(blank, "matrix").values(), *config.filter.init(blank).values())
            return sum(tensor.numel() for tensor in states)
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                break
    return sys.maxsize  # more than an address can hold


def check_fits(configs: Iterable[RunConfig], device: torch.device, free: int) -> None:
    """Raise ConfigError for a run that needs more memory than is free, before anything is allocated or written.

    The error names the estimate, the free memory, and the setting without which the run would need least.
    """
    known: set[tuple[object, ...]] = set()
    for config in configs:
        key = (config.task, config.model, config.optim, config.filter, config.ticket, config.batch_size)
        if key in known:
            continue
        known.add(key)
        if (needed := least_bytes(config)) > free:
            name, value = _largest(config)
            raise ConfigError(
                name, f"{value} needs about {in_words(needed)} of memory, and {in_words(free)} are free on {device}"
            )


def _largest(config: RunConfig) -> tuple[str, str]:
    """The changed setting without which a run needs least memory, and its value; the run as a whole if it has none."""
    found = (least_bytes(config), "model", "this run")
    for name, value in flatten(config.changes()).items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        plain = config.changes()
        *path, field = name.split(".")
        branch = plain
        for word in path:
            branch = branch[word]
        del branch[field]
        with suppress(GrokscopeError, ArithmeticError, ValueError):  # without it the others may not fit together
            found = min(found, (least_bytes(RunConfig.from_dict(plain)), name, str(value)))
    return found[1:]


def in_words(size: int) -> str:
    """`3.2 GB`"""
    units = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
    power = min(max(len(str(size)) - 1, 0) // 3, len(units) - 1)
    return f"{size / 1000**power:,.3g} {units[power]}"


def _data_bytes(shape: Shape) -> int:
    """Size of an input or its lookup plan, with label, informative positions and target."""
    example = 4 * shape.features if shape.features else 8 * (3 * max(shape.length, shape.test_length))
    return (shape.train_size + shape.test_size + shape.validation_size) * (example + 16)
