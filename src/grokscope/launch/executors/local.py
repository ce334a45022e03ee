"""This machine: every GPU of it, one process each, or several processes on its CPU. With one device and one process the calling
process trains everything itself."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from ...helpers import cores
from ...settings import require
from ..chunks import Chunk, chunk_size, cut
from ..worker import Outcome, Task, work
from .base import Executor, executors

RETRIES = 1
"""How often a task is repeated whose process was killed, on another device if there is one."""
FAILURES = 2
"""Tasks in a row that fail on a device, after which it gets no more while another one works."""
VISIBLE = "CUDA_VISIBLE_DEVICES"


@executors.register("local")
@dataclass(frozen=True, kw_only=True)
class Local(Executor):
    """This machine."""

    devices: str = ""
    """Devices by name, such as `cuda:0,cuda:2`, with one process each; empty is every GPU, or the CPU."""
    processes: int = 1
    """Processes on a CPU, which share its cores; 0 is one per core. Several pay off for small networks: their Python code uses one
    core per process."""

    def check(self) -> None:
        require(self.processes >= 0, "processes", f"{self.processes} is below 0; 0 is one per core")
        both = f"{self.processes} processes beside local.devices, which names one device per process; give one of them"
        require(not self.devices or self.processes == 1, "processes", both)

    def chosen(self, device: str) -> list[str]:
        """The devices that are used."""
        import torch

        from ...ops.devices import resolve_device

        if self.processes != 1:
            on_cpu = resolve_device(device).type == "cpu"
            require(on_cpu, "local.processes", "a GPU trains many runs in one process; add --device cpu, or remove it")
            return ["cpu"] * (self.processes or cores())
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
        for worker in self.workers:
            worker.spawn()  # all of them before the first task is sent, which waits until its process has begun
        self.waiting = deque(range(len(tasks)))
        self.ended: dict[int, Outcome] = {}
        self.killed: dict[int, list[_Worker]] = defaultdict(list)
        """The workers whose processes were killed with each task."""
        self.stopping = False

    def poll(self) -> bool:
        for worker in self.workers:
            number = worker.number
            if number is not None and worker.ended():
                failed = worker.outcome is None or bool(worker.outcome["problem"])
                worker.failures = worker.failures + 1 if failed else 0
                if worker.outcome is not None:
                    self.ended[number] = worker.outcome
                    if failed:
                        worker.end()  # a GPU may be of no use to a process after an error
                else:
                    self.killed[number].append(worker)
                    if not self._gave_up(number):
                        self.waiting.appendleft(number)
        for worker in () if self.stopping else self.workers:
            if worker.number is None and (chosen := self._next(worker)) is not None:
                self.waiting.remove(chosen)
                worker.start(chosen, self.tasks[chosen])
        return any(worker.number is not None for worker in self.workers)

    def _next(self, worker: _Worker) -> int | None:
        """The task that a worker begins; None if there is none for it now."""
        able = [other for other in self.workers if other.failures < FAILURES] or self.workers
        for number in self.waiting:
            fresh = [other for other in able if other not in self.killed[number]] or able
            before = self.chunks[number].after
            if worker in fresh and all(other in self.ended or self._gave_up(other) for other in before):
                return number
        return None

    def _gave_up(self, number: int) -> bool:
        return len(self.killed[number]) > RETRIES

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
        self.failures = 0
        """Tasks in a row that failed."""

    def spawn(self) -> None:
        """Start the process. It sees its own GPU alone, as a task of a cluster does."""
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,), daemon=True)
        with _visible(self.device):
            self.process.start()
        other.close()

    def start(self, number: int, task: Task) -> None:
        if self.process is None:
            self.spawn()
        self.number, self.outcome = number, None
        with suppress(OSError):  # it has died; `ended` notices
            self.connection.send({**task, "device": self.device.partition(":")[0]})

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


@contextmanager
def _visible(device: str) -> Iterator[None]:
    """Processes that are started inside see only this GPU: `cuda:1` is the second one that this process sees."""
    kind, _, index = device.partition(":")
    if kind != "cuda" or not index:
        yield
        return
    before = os.environ.get(VISIBLE)
    os.environ[VISIBLE] = before.split(",")[int(index)].strip() if before else index
    try:
        yield
    finally:
        if before is None:
            del os.environ[VISIBLE]
        else:
            os.environ[VISIBLE] = before


def _serve(connection: Connection) -> None:
    """In a worker process: train tasks until the connection is closed."""
    os.setpgid(0, 0)  # Ctrl-C reaches the command alone, which sends SIGTERM
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(work(task))
