"""Scaling: run-steps per second against lanes, modulus, width, sequence length and layers, with the counted limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..config import RunConfig, merge, nested
from ..errors import ConfigError
from .ceilings import copy_rate, products_seconds, square_rate
from .fleet import FleetLoop, free, out_of_memory, seconds_per_epoch
from .measure import Notify, Row, limit, silent
from .trace import Cost, step_cost

if TYPE_CHECKING:
    from collections.abc import Sequence

AXES: Mapping[str, Sequence[int]] = {
    "lanes": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
    "p": (31, 61, 113, 173, 257),
    "d": (32, 64, 128, 256, 512),
    "T": (4, 8, 16, 32, 64),
    "layers": (1, 2, 3, 4),
}
LANES = {"cpu": 1, "cuda": 64}
"""Of all axes but the lanes."""
MOST_LANES = {"cpu": 64, "cuda": 1024}
PATIENCE = 5.0
"""A point is skipped if one epoch is expected to take longer than this many times the seconds per point."""
SLOWER = 3.0
"""Expected time of a step, as a multiple of its products at the rate of a large square product."""


class Point(NamedTuple):
    axis: str
    value: int
    lanes: int
    config: RunConfig


def points(config: RunConfig, kind: str) -> Iterator[Point]:
    """All points of all axes that the config's task and model have."""
    for axis, values in AXES.items():
        for value in values:
            lanes = value if axis == "lanes" else LANES[kind]
            if lanes > MOST_LANES[kind]:
                continue
            try:
                own = RunConfig.from_dict(merge(config.to_dict(), nested(settings(config, axis, value)))).check()
            except ConfigError:
                break
            yield Point(axis, value, lanes, own)


def settings(config: RunConfig, axis: str, value: int) -> dict[str, Any]:
    """The settings of a point on an axis. The MLP is four times as wide as d; T counts operands, distractors and "="."""
    if axis == "T":
        shape, distractors = config.task.shape, getattr(config.task, "distractors", 0)
        return {"task.distractors": value - (shape.length - distractors)}
    changed: dict[str, dict[str, Any]] = {
        "lanes": {},
        "p": {"task.p": value},
        "d": {"model.d": value, "model.d_mlp": 4 * value},
        "layers": {"model.layers": value, "model.scope": "causal"},
    }
    return changed[axis]


def scaling(config: RunConfig, device: torch.device, *, seconds: float = 2.0, notify: Notify = silent) -> Iterator[Row]:
    """One row per point: run-steps per second of training alone (no evaluations) and the limit; a point that could not be timed
    has a note instead of numbers. Points shared by several axes are timed once."""
    copied, square = copy_rate(device), square_rate(config.precision, device)
    known: dict[tuple[int, RunConfig], Row] = {}
    costs: dict[RunConfig, Cost] = {}
    for axis, value, lanes, own in points(config, device.type):
        if (lanes, own) not in known:
            notify(f"{axis} = {value}")
            cost = costs[own] if own in costs else costs.setdefault(own, step_cost(own))
            expected = SLOWER * own.steps_per_epoch * lanes * 2 * cost.multiply_adds / square
            if expected > PATIENCE * seconds:
                known[lanes, own] = _without(f"skipped: an epoch would take about {expected:.0f} s")
            else:
                known[lanes, own] = _timed(own, cost, lanes, device, seconds, copied)
        yield {"axis": axis, "value": value, "lanes": lanes, "precision": own.precision, **known[lanes, own]}


def _timed(config: RunConfig, cost: Cost, lanes: int, device: torch.device, seconds: float, copied: float) -> Row:
    try:
        steps = lanes * config.steps_per_epoch
        rate = steps / seconds_per_epoch(FleetLoop(config, lanes, device), seconds)
        free(device)
        alone = products_seconds(cost.products, lanes, config.precision, device)
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        return _without("out of memory")
    finally:
        free(device)
    return {"run_steps_per_s": rate, "limit": limit(alone, sum(cost.bytes.values()), copied), "note": ""}


def _without(note: str) -> Row:
    return {"run_steps_per_s": None, "limit": None, "note": note}
