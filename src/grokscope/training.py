"""From configs to stored runs: opens run folders, packs runs into fleets, trains them, and goes on where it stopped."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from .analysis import run_times
from .config import RunConfig
from .errors import ConfigError, StoreError
from .fleet import Fleet, Job, Progress, pack, signature
from .fleet.start import initial_weights
from .models.lookup import plan
from .priors.base import pooled_log_attention
from .priors.kl import KL
from .store import (
    FINISHED,
    Checkpoint,
    RunFolder,
    RunInfo,
    check_writable,
    find_run,
    kept_epochs,
    read_checkpoint,
    read_run,
)
from .tickets import Origin
from .tickets.base import FromRun

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor


def train(
    config: RunConfig,
    *,
    seeds: int | Iterable[int] = 1,
    device: str = "auto",
    runs: str | Path = "runs",
    lanes: int | None = None,
    progress: Progress | None = None,
) -> list[RunInfo]:
    """Train one configuration with several seeds, side by side; finished runs are returned as they are.

    seeds    how many (0 … n−1), or which
    device   auto, cpu, cuda or cuda:1
    runs     folder that holds a folder per run
    lanes    how many train at once; None chooses by device

    Ctrl-C keeps what was trained: the runs come back with status "stopped", and the same call goes on from there.
    """
    chosen = range(seeds) if isinstance(seeds, int) else seeds
    configs = [replace(config, seed=seed) for seed in chosen]
    return train_all(configs, device=device, runs=runs, lanes=lanes, progress=progress)


def train_all(
    configs: Iterable[RunConfig],
    *,
    device: str = "auto",
    runs: str | Path = "runs",
    lanes: int | None = None,
    progress: Progress | None = None,
    save_every: float = 20.0,
) -> list[RunInfo]:
    """Train any configurations; those of equal shape share a fleet. Everything is checked before anything is written."""
    wanted = {config.id: config.check() for config in configs}
    if not wanted:
        raise ConfigError("seeds", "no run was asked for")
    place = resolve_device(device)
    check_writable(runs)
    for config in wanted.values():
        if _teacher(config):
            _find_teacher(config, runs)
        if isinstance(config.ticket, FromRun):
            _find_origin(config, runs)
    jobs = []
    for id, config in wanted.items():
        if not _finished(Path(runs) / id, config):
            config.task.require_data()
            sink = StoredRun(runs, config, device_name(place))
            target = (lambda c=config: teacher_attention(c, runs)) if _teacher(config) else None
            origin = (lambda c=config: ticket_origin(c, runs)) if isinstance(config.ticket, FromRun) else None
            jobs.append((config, Job(config=config, sink=sink, target=target, origin=origin)))
    sizes = Counter(signature(config) for config in wanted.values())
    with graceful_interrupt() as interrupted:
        for group in pack(jobs):
            fleet = Fleet(
                group,
                lanes=lanes or default_lanes(place),
                device=place,
                progress=progress,
                interrupted=interrupted,
                save_every=save_every,
                fewest=min(2, sizes[signature(group[0].config)]),
            )
            fleet.run()
            if interrupted():
                break
    return [read_run(Path(runs) / id) for id in wanted if (Path(runs) / id).exists()]


class StoredRun:
    """A fleet's sink that writes to a run folder. The folder is opened when the run's turn comes."""

    def __init__(self, runs: str | Path, config: RunConfig, device: str):
        self.runs, self.config, self.device = runs, config, device
        self.folder: RunFolder | None = None
        self.history: list[dict[str, float]] = []
        """Epoch and accuracies of every row, for the summary."""

    def resume(self) -> tuple[int, dict[str, Any], dict[str, Tensor]] | None:
        self.folder = RunFolder.create_or_open(self.runs, self.config.id, self.config.to_dict(), device=self.device)
        saved = self.folder.latest_checkpoint()
        if saved is None:
            return None
        self.history = _history(self.folder.metrics().to_pylist())
        return saved.epoch, saved.metadata, saved.tensors

    def save(
        self,
        *,
        epoch: int,
        rows: list[dict[str, float]],
        tensors: dict[str, Tensor],
        metadata: dict[str, Any],
        status: str,
        keep: bool,
    ) -> None:
        assert self.folder is not None
        history = self.history + _history(rows)
        summary = _summary(history, self.config.stop.window)
        seconds = metadata["seconds"]
        self.folder.save(epoch, rows, tensors, metadata, summary, status=status, seconds=seconds, keep=keep)
        self.history = history

    def close(self) -> None:
        if self.folder is not None:
            self.folder.close()


def _summary(history: list[dict[str, float]], window: int) -> dict[str, Any]:
    """t_mem, t_grok and the last accuracies, as `grokscope runs` shows them."""
    import pandas as pd

    if not history:
        return {}
    accuracies = {name: history[-1][name] for name in ("train_accuracy", "test_accuracy")}
    return run_times(pd.DataFrame(history), window=window).to_dict() | accuracies


def _history(rows: list[dict[str, Any]]) -> list[dict[str, float]]:
    return [{key: row[key] for key in ("epoch", "seconds", "train_accuracy", "test_accuracy")} for row in rows]


def _finished(path: Path, config: RunConfig) -> bool:
    """Whether there is nothing left to train. Opening an unfinished run mends what a kill left half done, and tells
    before anything is trained that another process has it."""
    if not path.exists():
        return False
    if read_run(path).status in FINISHED:
        return True
    with RunFolder.create_or_open(path.parent, path.name, config.to_dict(), device="") as folder:
        return folder.state.finished


def _teacher(config: RunConfig) -> str:
    return config.prior.teacher if isinstance(config.prior, KL) and config.prior.target == "teacher" else ""


def _find_teacher(config: RunConfig, runs: str | Path) -> tuple[RunInfo, RunConfig]:
    info = find_run(runs, _teacher(config))
    teacher = RunConfig.from_dict(info.config)
    mine, other = config.task.shape, teacher.task.shape
    if (mine.vocabulary, mine.length) != (other.vocabulary, other.length):
        raise ConfigError("prior.teacher", f"run {info.id} reads other sequences than this task has")
    return info, teacher


def teacher_attention(config: RunConfig, runs: str | Path) -> Tensor:
    """What the teacher run attends to on this run's training sequences, averaged over its heads."""
    info, teacher = _find_teacher(config, runs)
    other = teacher.task.shape
    weights = teacher.ticket.effective(_tensors(read_checkpoint(info), "weight/"))
    tokens = config.task.split(config.seed).train.inputs
    with torch.no_grad():
        out = teacher.model.forward(weights, plan(tokens, other.vocabulary, max(other.length, other.test_length)))
        return pooled_log_attention(out).exp()


def _tensors(saved: Checkpoint, prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): t for name, t in saved.tensors.items() if name.startswith(prefix)}


def _find_origin(config: RunConfig, runs: str | Path) -> tuple[RunInfo, RunConfig]:
    assert isinstance(config.ticket, FromRun)
    info = find_run(runs, config.ticket.run)
    source = RunConfig.from_dict(info.config)
    mine, other = (c.model.parameters(c.task.shape) for c in (config, source))
    if {name: p.shape for name, p in mine.items()} != {name: p.shape for name, p in other.items()}:
        raise ConfigError("ticket.run", f"run {info.id} has other weights than this model")
    return info, source


def ticket_origin(config: RunConfig, runs: str | Path) -> Origin:
    """The run that a ticket comes from: its weights before the first step and at the ticket's epoch, and its mask."""
    info, source = _find_origin(config, runs)
    assert isinstance(config.ticket, FromRun)
    saved = read_checkpoint(info, _ticket_epoch(info, config.ticket.epoch))
    trained = source.ticket.effective(_tensors(saved, "weight/"))
    return Origin(initial_weights(source), trained, _tensors(saved, "mask/"))


def _ticket_epoch(info: RunInfo, epoch: int | str) -> int | None:
    """The epoch of a checkpoint; None is the newest."""
    if epoch == "last":
        return None
    if isinstance(epoch, int):
        return epoch
    since = info.summary.get(epoch)
    if since is None:
        raise StoreError(f"run {info.id} has no {epoch}: it never got there by epoch {info.epoch}")
    kept = [saved for saved in kept_epochs(info) if saved >= since]
    if not kept:
        raise StoreError(f"run {info.id} kept no checkpoint after {epoch} = {since}; train it with log.keep")
    return kept[0]


def resolve_device(name: str) -> torch.device:
    """auto is the GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError("device", f"{name!r} is no device. Choose from: auto, cpu, cuda.") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError("device", f"{name!r} is not supported. Choose from: auto, cpu, cuda.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device", "cuda was asked for, but PyTorch sees no CUDA device here. Use --device cpu.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError("device", f"{name}: there are only {torch.cuda.device_count()} CUDA devices")
    return device


def device_name(device: torch.device) -> str:
    """What to call a device in a manifest."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def default_lanes(device: torch.device) -> int:
    """On a CPU a few lanes fill the cores; a GPU wants many."""
    return 16 if device.type == "cpu" else 256


@contextmanager
def graceful_interrupt() -> Iterator[Callable[[], bool]]:
    """Inside, Ctrl-C (or SIGTERM) sets a flag that the fleet reads between steps; a second one stops at once."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def note(number: int, frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def metrics_of(run: RunInfo) -> pd.DataFrame:
    """The metric table of a run."""
    from .store import read_metrics

    table: pd.DataFrame = read_metrics(run).to_pandas()
    return table


__all__ = [
    "StoreError",
    "StoredRun",
    "default_lanes",
    "metrics_of",
    "resolve_device",
    "teacher_attention",
    "ticket_origin",
    "train",
    "train_all",
]
