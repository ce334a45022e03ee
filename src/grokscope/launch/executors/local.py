"""This machine: every GPU of it, one process each. With one device the calling process trains everything itself."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from ...settings import require
from ..chunks import Chunk, chunk_size, cut
from ..worker import Outcome, Task, work
from .base import Executor, executors

RETRIES = 1
"""How often a task is repeated whose process was killed."""


@executors.register("local")
@dataclass(frozen=True, kw_only=True)
class Local(Executor):
    """This machine."""

    devices: str = ""
    """Devices by name, such as `cuda:0,cuda:2`, with one process each; empty is every GPU, or the CPU."""

    def chosen(self, device: str) -> list[str]:
        """The devices that are used."""
        import torch

        if self.devices:
            return [name.strip() for name in self.devices.split(",") if name.strip()]
        if device in ("auto", "cuda") and torch.cuda.device_count() > 1:
            return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        return [device]

    def in_process(self, device: str) -> bool:
        return len(self.chosen(device)) == 1

    def own_device(self, device: str) -> str:
        return self.chosen(device)[0]

    def uses_gpu(self, device: str) -> bool:
        from ...ops.devices import resolve_device

        kinds = {resolve_device(name).type for name in self.chosen(device)}
        require(len(kinds) == 1, "local.devices", f"{self.devices} names a CPU and a GPU; their numbers differ in bits")
        return kinds == {"cuda"}

    def cut(self, configs: Sequence[Any], device: str, lanes: int | None) -> tuple[Chunk, ...]:
        from ..scheduler import usable_cores

        slots = len(self.chosen(device))
        size = chunk_size(len(configs), slots, gpu=self.uses_gpu(device))
        return cut(configs, size=size, lanes=lanes, threads=max(1, usable_cores() // slots))

    def submit(self, tasks: Sequence[Task], chunks: Sequence[Chunk], runs: Path) -> Processes:
        return Processes(tasks, chunks, self.chosen(tasks[0]["device"]))


class Processes:
    """One process per device, each with one task at a time."""

    def __init__(self, tasks: Sequence[Task], chunks: Sequence[Chunk], devices: Sequence[str]):
        self.tasks, self.chunks = tasks, chunks
        self.workers = [_Worker(device) for device in devices[: len(tasks)]]
        self.waiting = deque(range(len(tasks)))
        self.ended: dict[int, Outcome] = {}
        self.killed: Counter[int] = Counter()
        """How often the process of each task was killed."""
        self.stopping = False

    def poll(self) -> bool:
        for worker in self.workers:
            number = worker.number
            if number is not None and worker.ended():
                if worker.outcome is not None:
                    self.ended[number] = worker.outcome
                else:
                    self.killed[number] += 1
                    if not self._gave_up(number) and not self.stopping:
                        self.waiting.appendleft(number)
            if worker.number is None and not self.stopping and (chosen := self._next()) is not None:
                worker.start(chosen, self.tasks[chosen])
        return any(worker.number is not None for worker in self.workers)

    def _next(self) -> int | None:
        for number in self.waiting:
            if all(other in self.ended or self._gave_up(other) for other in self.chunks[number].after):
                self.waiting.remove(number)
                return number
        return None

    def _gave_up(self, number: int) -> bool:
        return self.killed[number] > RETRIES

    def outcomes(self) -> list[Outcome]:
        return [self.ended[number] for number in sorted(self.ended)]

    def lost(self) -> str:
        count = sum(map(self._gave_up, tuple(self.killed)))
        return f"{count} task{'s' * (count > 1)} ended twice by a signal, perhaps for lack of memory" if count else ""

    def close(self, interrupted: bool) -> str:
        """End the processes; each saves its runs first."""
        self.stopping = True
        for worker in self.workers:
            worker.stop()
        while self.poll():
            time.sleep(0.05)
        for worker in self.workers:
            worker.end()
        return ""


class _Worker:
    """A process on one device."""

    def __init__(self, device: str):
        self.device = device
        self.process: BaseProcess | None = None
        self.number: int | None = None
        """The task that it trains."""
        self.outcome: Outcome | None = None

    def start(self, number: int, task: Task) -> None:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, other = context.Pipe()
            self.process = context.Process(target=_serve, args=(other,), daemon=True)
            self.process.start()
            other.close()
        self.number, self.outcome = number, None
        with suppress(OSError):  # it has died; `ended` notices
            self.connection.send({**task, "device": self.device})

    def ended(self) -> bool:
        """Whether its task has ended; without an outcome if the process died."""
        assert self.process is not None
        alive = self.process.is_alive()
        if self.connection.poll():
            with suppress(EOFError, OSError):
                self.outcome, self.number = self.connection.recv(), None
                return True
        elif alive:
            return False
        self.number = None
        self.end()
        return True

    def stop(self) -> None:
        if self.number is not None and self.process is not None and self.process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGTERM)

    def end(self) -> None:
        if self.process is not None:
            self.connection.close()  # an idle process ends when it is
            self.process.join()
            self.process = None


def _serve(connection: Connection) -> None:
    """In a worker process: train tasks until the connection is closed."""
    os.setpgid(0, 0)  # Ctrl-C reaches the command alone, which sends SIGTERM
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(work(task))
