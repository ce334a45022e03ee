"""Ray Core: one task per chunk, owned by a detached actor, so that tasks outlive the command. Ray repeats the tasks of a node that
failed on another one; they continue from the last save."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ...errors import ConfigError, GrokscopeError
from ...settings import require
from ..chunks import Chunk, chunk_size, cut
from ..jobs import new_name, save_record
from ..worker import Outcome, Task, work
from .base import Executor, executors, required

NAMESPACE = "grokscope"
WAIT = 20.0
"""Seconds to wait for an answer of the cluster."""
CONNECT = 5.0
"""Seconds to wait for a connection to it."""


@executors.register("ray")
@dataclass(frozen=True, kw_only=True)
class Ray(Executor):
    """A Ray cluster."""

    takes_address: ClassVar[bool] = True
    address: str = "auto"
    """Address of the cluster, such as `ray://head:10001`; auto finds the one that this machine belongs to."""
    gpus: int = -1
    """GPUs per task, 0 or 1; −1 is 1 if the cluster has any."""
    cpus: int = 1
    """CPU cores per task."""
    runs: int = 0
    """Runs per task; 0 chooses a number by the size of the cluster."""
    retries: int = 5
    """How often a task is repeated whose node or process failed."""

    def check(self) -> None:
        require(self.gpus in (-1, 0, 1), "gpus", f"{self.gpus} is neither 0 nor 1: a task trains on one device")
        require(self.cpus >= 1, "cpus", f"{self.cpus} is not positive")
        require(self.runs >= 0, "runs", f"{self.runs} is negative")
        require(self.retries >= 0, "retries", f"{self.retries} is negative")

    def uses_gpu(self, device: str) -> bool:
        if self.gpus >= 0 or device == "cpu":
            return self.gpus == 1 and device != "cpu"
        with self._connected() as ray:
            return bool(ray.cluster_resources().get("GPU", 0))

    def cut(self, configs: Sequence[Any], device: str, lanes: int | None) -> tuple[Chunk, ...]:
        gpu = self.uses_gpu(device)
        with self._connected() as ray:
            resources = ray.cluster_resources()
        slots = int(resources.get("GPU", 0) if gpu else resources.get("CPU", 0) // self.cpus)
        if slots < 1:
            raise ConfigError(
                "--on", f"the Ray cluster has no node with {'a GPU' if gpu else f'{self.cpus} CPU cores'}"
            )
        return cut(configs, size=self.runs or chunk_size(len(configs), slots, gpu=gpu), lanes=lanes, threads=self.cpus)

    def submit(self, tasks: Sequence[Task], chunks: Sequence[Chunk], runs: Path) -> RaySubmission:
        name = new_name()
        resources = {"num_cpus": self.cpus, "num_gpus": int(tasks[0]["device"] == "cuda"), "max_retries": self.retries}
        with self._connected() as ray:
            # first: tasks that no record names could not be found again
            save_record(runs, self, name, {f"{name}/{n}": chunk.ids for n, chunk in enumerate(chunks)})
            actor = ray.remote(Foreman).options(
                name=name, namespace=NAMESPACE, lifetime="detached", num_cpus=0, max_restarts=-1
            )
            handle = actor.remote([dict(task) for task in tasks], [chunk.after for chunk in chunks], resources)
            try:
                ray.get(handle.poll.remote())
            except ray.exceptions.RayError as error:
                raise ConfigError("--on", f"the Ray cluster cannot begin: {_line(error)}") from None
        return RaySubmission(self, name)

    def active(self, record: Mapping[str, Any]) -> dict[str, str]:
        with self._connected() as ray:
            foreman = _foreman(ray, record["name"])
            states: dict[int, str] = ray.get(foreman.states.remote(), timeout=WAIT) if foreman else {}
            if foreman and not states:
                ray.kill(foreman)
        return {f"{record['name']}/{number}": state for number, state in states.items()}

    def cancel(self, record: Mapping[str, Any], jobs: Sequence[str]) -> None:
        with self._connected() as ray:
            if foreman := _foreman(ray, record["name"]):
                ray.get(foreman.cancel.remote([int(job.rpartition("/")[2]) for job in jobs]), timeout=WAIT)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        """The package, connected to the cluster. One connection per process, which stays."""
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else a warning at every start
        ray = required("ray", "ray")
        try:
            if not ray.is_initialized():
                _check_port(self.address)
                ray.init(
                    self.address,
                    namespace=NAMESPACE,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    configure_logging=False,
                )
            yield ray
        except (ConnectionError, TimeoutError) as error:
            where = f"at {self.address}" if self.address != "auto" else "on this machine"
            raise ConfigError(
                "--on", f"no Ray cluster can be reached {where} ({_line(error)}); start one with: ray start --head"
            ) from None


class Foreman:
    """The detached actor that owns the tasks of one submission. Restarted on another node, it submits them again: runs that are
    finished are returned at once."""

    def __init__(self, tasks: list[Task], after: list[tuple[int, ...]], resources: Mapping[str, Any]):
        import ray

        self.refs: list[Any] = []
        self.ended: dict[int, Outcome] = {}
        self.failed: dict[int, str] = {}
        remote = ray.remote(_work).options(**resources)
        for number, task in enumerate(tasks):
            # Ray begins a task when its arguments are there: those it depends on have then ended
            self.refs.append(remote.remote(task, number, *(self.refs[other] for other in after[number])))

    def poll(self) -> int:
        """Number of tasks that have not ended."""
        import ray

        for number, ref in enumerate(self.refs):
            if number in self.ended or number in self.failed or not ray.wait([ref], timeout=0)[0]:
                continue
            try:
                self.ended[number] = ray.get(ref)
            except (ray.exceptions.RayError, GrokscopeError) as error:
                self.failed[number] = _line(error)
        return len(self.refs) - len(self.ended) - len(self.failed)

    def results(self) -> tuple[list[Outcome], list[str]]:
        self.poll()
        return [self.ended[number] for number in sorted(self.ended)], list(self.failed.values())

    def states(self) -> dict[int, str]:
        self.poll()
        return {n: "submitted" for n in range(len(self.refs)) if n not in self.ended and n not in self.failed}

    def cancel(self, numbers: list[int]) -> None:
        import ray

        for number in numbers:
            ray.cancel(self.refs[number])  # as Ctrl-C in its process: its runs are saved


class RaySubmission:
    """Tasks of a foreman."""

    def __init__(self, place: Ray, name: str):
        self.place, self.name = place, name
        self._outcomes: list[Outcome] = []
        self._failed: list[str] = []

    def poll(self) -> bool:
        with self.place._connected() as ray:
            if (foreman := _foreman(ray, self.name)) is None:
                return False  # another command cancelled the tasks
            with contextlib.suppress(ray.exceptions.ActorUnavailableError, ray.exceptions.GetTimeoutError):
                left: int = ray.get(foreman.poll.remote(), timeout=1.0)
                return left > 0
        return True  # it is being restarted

    def outcomes(self) -> list[Outcome]:
        return self._outcomes

    def lost(self) -> str:
        return self._failed[0] if self._failed else ""

    def close(self, interrupted: bool) -> str:
        if interrupted:
            return f"detached; the tasks continue. grokscope status shows them, grokscope cancel {self.name} ends them"
        with self.place._connected() as ray:
            if foreman := _foreman(ray, self.name):
                self._outcomes, self._failed = ray.get(foreman.results.remote())
                ray.kill(foreman)
        return ""


def _check_port(address: str) -> None:
    """Raise ConnectionError or TimeoutError if nothing listens there: Ray itself would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=CONNECT).close()
        except socket.gaierror:
            raise ConnectionError(f"unknown host {host}") from None
        except OSError as error:
            raise ConnectionError(error.strerror or "no answer") from None


def _work(task: Task, number: int, *after: object) -> Outcome:
    import ray

    return work(task, job=f"ray {ray.get_runtime_context().get_node_id()[:8]}/{number}")


def _foreman(ray: Any, name: str) -> Any:
    try:
        return ray.get_actor(name, namespace=NAMESPACE)
    except ValueError:
        return None  # it has ended, with all its tasks


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:200]
