"""A task of a cluster: one chunk of runs, as plain JSON on its way to a worker, and its training there.

The user's files (`--load`) travel with it. A worker with other code than that of the command refuses the task.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from .. import __version__
from ..config import RunConfig
from ..errors import ConfigError, GrokscopeError
from ..loading import USER_MODULE, error_lines, load_copies, travelling_files
from ..settings import Settings
from ..store.lease import JOB
from .chunks import Chunk


class Task(TypedDict):
    """A chunk on its way to a worker."""

    version: str
    """Version and hash of the code that made it."""
    files: list[dict[str, Any]]
    """Loaded files with their content."""
    configs: list[dict[str, Any]]
    ids: list[str]
    runs: str
    """Folder of runs, shared by all workers."""
    folder: str
    """Working directory of the command."""
    device: str
    lanes: int | None
    threads: int | None
    save_every: float
    track: list[str]


class Outcome(TypedDict):
    """How a task ended."""

    host: str
    problem: str
    """One line about runs that failed; empty if none did."""
    refused: bool
    """Whether the worker did not try: its code differs, or it cannot reach the runs."""
    steps: tuple[int, int]
    """Optimizer steps taken, summed over runs, and steps of all lanes."""


@functools.cache
def code_version() -> str:
    """Version of grokscope with a hash of its code, such as `0.1.0 (3f9a1c2e)`: equal where a run gives the same numbers."""
    home = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for file in sorted(home.rglob("*.py")):
        digest.update(f"{file.relative_to(home)}\n".encode() + file.read_bytes())
    return f"{__version__} ({digest.hexdigest()[:8]})"


def make_task(chunk: Chunk, *, runs: Path, device: str, save_every: float = 20.0, track: Sequence[Any] = ()) -> Task:
    """The chunk as plain JSON; ConfigError for what cannot travel."""
    for config in chunk.configs:
        _check_travels(config)
    if unnamed := [tracker for tracker in track if not isinstance(tracker, str)]:
        raise ConfigError("track", f"{unnamed[0]!r} cannot travel to a worker; give the name of a tracker")
    return Task(
        version=code_version(),
        files=travelling_files(),
        configs=[config.to_dict() for config in chunk.configs],
        ids=list(chunk.ids),
        runs=str(runs.resolve()),
        folder=str(Path.cwd()),
        device=device,
        lanes=chunk.lanes,
        threads=chunk.threads,
        save_every=save_every,
        track=list(track),
    )


def work(task: Task, job: str = "") -> Outcome:
    """Train the runs of a task in this process, the worker's own. Runs that fail are named in the outcome, not raised.

    job   what the cluster calls this task; shown by `grokscope status`
    """
    outcome = Outcome(host=socket.gethostname(), problem="", refused=False, steps=(0, 0))
    if task["version"] != code_version():
        line = f"it has grokscope {code_version()}, the command has {task['version']}; install the same version"
        return Outcome(host=outcome["host"], problem=line, refused=True, steps=(0, 0))
    os.environ[JOB] = job
    try:
        configs = _prepare(task)
        outcome["steps"] = _train(configs, task)
    except Exception as error:
        lines = error_lines(error) or [
            str(error) if isinstance(error, GrokscopeError) else f"{type(error).__name__}: {error}"
        ]
        outcome["problem"] = " ".join(" ".join(lines).split())
    return outcome


def _prepare(task: Task) -> list[RunConfig]:
    if Path(task["folder"]).is_dir():
        os.chdir(task["folder"])  # settings may hold relative paths
    if task["files"]:
        load_copies(task["files"])
        if "torch" in sys.modules:
            # found by name, since it lies above: nn.Module classes of loaded files
            attach = importlib.import_module("grokscope.attach.fleet")
            attach.register_modules(name for name in tuple(sys.modules) if name.startswith(USER_MODULE))
    configs = [RunConfig.from_dict(plain) for plain in task["configs"]]
    for config, id in zip(configs, task["ids"], strict=True):
        if config.id != id:
            raise ConfigError(
                "config", f"run {id} is {config.id} on this worker: a loaded file means something else here"
            )
    return configs


def _train(configs: list[RunConfig], task: Task) -> tuple[int, int]:
    import torch

    from ..fleet import TrainingStats
    from .local import train_all

    if task["threads"]:
        torch.set_num_threads(task["threads"])
    stats = TrainingStats()
    train_all(
        configs,
        device=task["device"],
        runs=task["runs"],
        lanes=task["lanes"],
        save_every=task["save_every"],
        track=task["track"],
        stats=stats,
    )
    return stats.run_steps, stats.lane_steps


def _check_travels(settings: Settings, path: str = "") -> None:
    """Refuse components whose code a worker does not have: those of a script or notebook."""
    for name, part in settings.components().items():
        where = f"{path}.{name}" if path else name
        home = getattr(getattr(type(part), "build", None), "__module__", type(part).__module__)
        if not home.startswith(("grokscope.", USER_MODULE)):
            raise ConfigError(
                where,
                f"{type(part).__name__} is defined in {home}, which workers do not have; put it in a file and --load it",
            )
        _check_travels(part, where)
