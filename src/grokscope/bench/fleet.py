"""The fleet's own loop, timed: steps with or without the evaluations that training has."""

from __future__ import annotations

import gc
import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from ..fleet.data import lane_data
from ..fleet.program import Program

if TYPE_CHECKING:
    from ..config import RunConfig

WINDOW = 0.3
"""Seconds that are timed at a time."""
SEEDS = 8
"""Speed does not depend on what the data says: a few seeds serve many lanes."""


class FleetLoop:
    """`lanes` seeds at once."""

    def __init__(self, config: RunConfig, lanes: int, device: torch.device):
        few = min(lanes, SEEDS)
        self.program = Program(config, few, device)
        for lane in range(few):
            own = replace(config, seed=lane)
            self.program.load(lane, own, lane_data(own))
        if lanes > few:
            self.program = self.program.narrow([lane % few for lane in range(lanes)])

    def steps(self, epochs: int) -> None:
        """Train without looking."""
        for _ in range(epochs):
            self.program.train_epoch()
        self.program.finish()


def fastest_window(call: Callable[[], object], seconds: float, device: torch.device, window: float = 0.0) -> float:
    """Seconds of one call. Windows of WINDOW seconds (or `window`, or one call) are timed for `seconds`, and the fastest counts:
    what else a machine does can only slow it down. What is compared has windows of the same length."""

    def spent(calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - begin

    spent(1)  # warm up
    calls = max(1, round((window or WINDOW) / max(spent(1), 1e-6)))
    best, left = math.inf, seconds
    while left > 0:
        taken = spent(calls)
        best, left = min(best, taken / calls), left - taken
    return best


def seconds_per_epoch(loop: FleetLoop, seconds: float) -> float:
    """Of training alone, after one epoch to warm up; at least one epoch, and more for about `seconds`."""
    loop.steps(1)
    count, spent = 1, 0.0
    while True:
        begin = time.perf_counter()
        loop.steps(count)
        spent = time.perf_counter() - begin
        if 2 * spent >= seconds:
            return spent / count
        count = max(2 * count, int(count * 0.7 * seconds / max(spent, 1e-6)))


def out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, or did so first: recording a graph that has no room left ends in another error."""
    if isinstance(error, torch.OutOfMemoryError) or re.search("out of memory|allocate memory", str(error)):
        return True
    return error.__context__ is not None and out_of_memory(error.__context__)


def free(device: torch.device) -> None:
    """Hand the memory of programs that are gone back: recorded graphs hold on to it until they are collected."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
