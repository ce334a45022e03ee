"""Timing of the fleet's own loop: steps with or without the evaluations of training."""

from __future__ import annotations

import gc
import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.func import vmap

from ..fleet.data import Batch, lane_data
from ..fleet.program import Program
from ..launch.plan import plan_workers
from ..launch.scheduler import usable_cores
from ..ops.team import Team, team_of
from ..randomness import Key
from .plain.loop import products_in

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..tickets import Origin

WINDOW = 0.3
"""Length of a timing window in seconds."""
SEEDS = 8
"""Speed does not depend on the data: a few seeds serve many lanes."""


class FleetLoop:
    """`lanes` seeds at once, as in training: stacked on a GPU, one per worker on a CPU."""

    def __init__(self, config: RunConfig, lanes: int, device: torch.device, origin: Origin | None = None):
        """origin   the run that the ticket comes from"""
        self.lanes, self.device = lanes, device
        if device.type == "cpu":
            self.cores = usable_cores()
            self.workers = plan_workers([config] * lanes, device, self.cores)
            self.programs = [loaded(config, [config.seed + lane % SEEDS], device, origin) for lane in range(lanes)]
            return
        program = loaded(config, [config.seed + lane for lane in range(min(lanes, SEEDS))], device, origin)
        self.programs = [program if lanes <= SEEDS else program.narrow([lane % SEEDS for lane in range(lanes)])]

    def train(self, epochs: int) -> None:
        """Train every lane without evaluating."""
        if self.device.type == "cpu":
            self._each(Program.train_epoch, epochs)
        else:
            self.programs[0].train_epoch(epochs)
            self.programs[0].finish()

    def evaluate(self) -> None:
        """Evaluate every lane."""
        self._each(Program.evaluate, 1)

    @property
    def how(self) -> str:
        """How the lanes are trained: "fused", "vmap" (stacked, each operation of one run mapped over the lanes) or "alone"."""
        program = self.programs[0]
        if program.objective.fused:
            return "fused" if program.needs_no_vmap or program.lanes == 1 else "fused, vmap"
        return "vmap" if program.lanes > 1 else "alone"

    def close(self) -> None:
        """Release the recorded graphs and with them the memory of the programs."""
        for program in self.programs:
            program.close()

    def _each(self, work: Callable[[Program], object], times: int) -> None:
        if self.device.type != "cpu":
            for _ in range(times):
                work(self.programs[0])
            self.programs[0].finish()
            return
        queue = deque((program, times) for program in self.programs)
        with team_of(self.cores) as team:
            threads = [threading.Thread(target=_drain, args=(queue, work, team)) for _ in range(self.workers)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()


def loaded(
    config: RunConfig, seeds: Sequence[int], device: torch.device, origin: Origin | None = None, fuse: bool = True
) -> Program:
    """A program with one lane per seed."""
    program = Program(config, len(seeds), device, fuse)
    for lane, seed in enumerate(seeds):
        own = replace(config, seed=seed)
        program.load(lane, own, lane_data(own), origin=origin)
    return program


class Step(NamedTuple):
    """What a program is about to do, of its first lane."""

    batch: Batch
    loss: Tensor
    gradients: dict[str, Tensor]
    key: Key


def first_step(program: Program) -> Step:
    """Batch, loss and gradients of the next step, from the very functions that training calls; nothing is changed."""
    batch = program._batch()
    rates = vmap(program.objective.scheduled)(program.hyper, program.step)
    with products_in(program.config.precision, program.device):
        of, factors = program._objective(batch, rates)
        weights = list(program.weights.values())
        gradients = torch.autograd.grad(of, weights, factors, allow_unused=True, materialize_grads=True)
        losses = program._each_run(program.objective.loss)
        arguments = (program.weights, program.hyper, batch, rates.prior, rates.data, program.step, program.seed)
        loss = losses(*arguments).detach()[0]
    first = {name: tensor[0] for name, tensor in batch.items()}
    own = {name: gradient[0] for name, gradient in zip(program.weights, gradients, strict=True)}
    if program.mask is not None:
        lives = program.layout.cut(program.mask[0])
        own = {name: gradient * lives[name] for name, gradient in own.items()}
    return Step(first, loss, own, Key(program.seed[0], program.step[0]))


def _drain(queue: deque[tuple[Program, int]], work: Callable[[Program], object], team: Team) -> None:
    """A worker takes the lane that has waited longest, for one of the times that are left."""
    with team.member():
        while True:
            try:
                program, times = queue.popleft()
            except IndexError:
                return
            work(program)
            if times > 1:
                queue.append((program, times - 1))


def fastest_window(call: Callable[[], object], seconds: float, device: torch.device, window: float = 0.0) -> float:
    """Seconds of one call. Windows of WINDOW seconds (or `window`, or one call) are timed for `seconds`, and the fastest counts:
    other work on the machine can only slow it down. Compared timings use windows of the same length, if there is time for one."""

    def spent(calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - begin

    spent(1)  # warm up
    calls = max(1, round(min(window or WINDOW, seconds) / max(spent(1), 1e-6)))
    best, left = math.inf, seconds
    while left > 0:
        taken = spent(calls)
        best, left = min(best, taken / calls), left - taken
    return best


def seconds_per_epoch(loop: FleetLoop, seconds: float) -> float:
    """Seconds per epoch of training alone, after one warm-up epoch; at least one epoch, and more for about `seconds`."""
    loop.train(1)
    count, spent = 1, 0.0
    while True:
        begin = time.perf_counter()
        loop.train(count)
        spent = time.perf_counter() - begin
        if 2 * spent >= seconds:
            return spent / count
        count = max(2 * count, int(count * 0.7 * seconds / max(spent, 1e-6)))


def out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, possibly as the cause of another error: recording a graph without free memory fails differently."""
    if isinstance(error, torch.OutOfMemoryError) or re.search("out of memory|allocate memory", str(error)):
        return True
    return error.__context__ is not None and out_of_memory(error.__context__)


def free(device: torch.device) -> None:
    """Release the memory of deleted programs: recorded graphs keep it until they are collected."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
