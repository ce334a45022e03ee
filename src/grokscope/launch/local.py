"""From configs to stored runs: opens run folders, packs runs into fleets, trains them, and goes on where it stopped."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..analysis import run_times
from ..config import RunConfig
from ..errors import ConfigError, StoreError
from ..fleet import Job, Progress, TrainingStats
from ..fleet.start import initial_weights
from ..measures import measures
from ..ops.devices import device_name, resolve_device
from ..ops.lookup import plan
from ..priors.base import pooled_log_attention
from ..priors.kl import KL
from ..store import (
    FINISHED,
    Checkpoint,
    RunFolder,
    RunInfo,
    check_writable,
    delete_runs,
    find_run,
    kept_epochs,
    read_checkpoint,
    read_run,
)
from ..tickets import Origin
from ..tickets.base import FromRun
from .fit import fitting_lanes, free_memory
from .guard import GuardedProgress
from .pack import pack, signature
from .scheduler import Group, Scheduler, plan_workers

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
    lanes    how many train at once in a fleet; None chooses by memory

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
    stats: TrainingStats | None = None,
    again: bool = False,
) -> list[RunInfo]:
    """Train any configurations; those of equal shape share a fleet. Everything is checked before anything is written.

    stats   what training takes is added to it
    again   delete what is stored of these runs and train them from scratch
    """
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
    if again:
        deleted = delete_runs(Path(runs) / id for id in wanted)
        print(f"deleted {deleted} stored run{'s' * (deleted != 1)}; training from scratch", file=sys.stderr)
    jobs = []
    for id, config in wanted.items():
        if not _finished(Path(runs) / id, config):
            config.task.require_data()
            sink = StoredRun(runs, config, device_name(place))
            target = (lambda c=config: teacher_attention(c, runs)) if _teacher(config) else None
            origin = (lambda c=config: ticket_origin(c, runs)) if isinstance(config.ticket, FromRun) else None
            jobs.append((config, Job(config=config, sink=sink, target=target, origin=origin)))
    if jobs:
        _train_jobs(jobs, list(wanted.values()), place, lanes, progress, save_every, stats or TrainingStats())
    return [read_run(Path(runs) / id) for id in wanted if (Path(runs) / id).exists()]


def _train_jobs(
    jobs: list[tuple[RunConfig, Job]],
    wanted: list[RunConfig],
    device: torch.device,
    lanes: int | None,
    progress: Progress | None,
    save_every: float,
    stats: TrainingStats,
) -> None:
    """How runs are trained (threads, one lane alone or several) follows from all that are wanted, whatever is left of them."""
    packed, sizes = pack(jobs), Counter(signature(config) for config in wanted)
    workers, threads = plan_workers(wanted, device)
    alone = device.type == "cpu" and len(wanted) <= workers
    workers = min(workers, len(jobs if device.type == "cpu" else packed))
    groups, free = [], 0 if lanes else free_memory(device)
    for group in packed:
        template = group[0].config
        several = sizes[signature(template)] > 1 and not alone
        fit = lanes or fitting_lanes(template, len(group), device, free, workers)
        groups.append(Group(waiting=deque(group), lanes=fit if several else 1, fewest=2 if several else 1))
    begin = time.monotonic()
    with graceful_interrupt() as interrupted:
        scheduler = Scheduler(
            groups,
            workers=workers,
            threads=threads,
            device=device,
            progress=GuardedProgress(progress) if progress else None,
            interrupted=interrupted,
            save_every=save_every,
            tell=lambda line: print(line, file=sys.stderr),
        )
        try:
            scheduler.run()
        finally:
            stats += scheduler.stats
            stats.seconds += time.monotonic() - begin


class StoredRun:
    """A fleet's sink that writes to a run folder. The folder is opened when the run's turn comes."""

    def __init__(self, runs: str | Path, config: RunConfig, device: str):
        self.runs, self.config, self.device = runs, config, device
        self.folder: RunFolder | None = None
        self.history: list[dict[str, float]] = []
        """Epoch and accuracies of every row, for the summary."""

    def resume(self) -> tuple[int, dict[str, Any], dict[str, Tensor]] | None:
        self.folder = RunFolder.create_or_open(
            self.runs, self.config.id, self.config.to_dict(), device=self.device, measures=list(measures.entries())
        )
        saved = self.folder.latest_checkpoint()
        self.history = _history(self.folder.metrics().to_pylist()) if saved else []
        if saved is None:
            return None
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
    from ..store import read_metrics

    table: pd.DataFrame = read_metrics(run).to_pandas()
    return table


__all__ = [
    "StoreError",
    "StoredRun",
    "metrics_of",
    "resolve_device",
    "teacher_attention",
    "ticket_origin",
    "train",
    "train_all",
]
