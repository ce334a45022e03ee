"""Training on this machine: open run folders, plan which runs train together, train, and continue stopped runs."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..config import RunConfig, combine, with_seeds
from ..errors import ConfigError, StoreError
from ..fleet import Job, Progress, TrainingStats
from ..garbage import spared_at_first
from ..limits import chosen_seeds
from ..measures import measures
from ..ops.blas import numerics
from ..ops.devices import device_name, resolve_device
from ..ops.memory import free_memory
from ..ops.triton import try_early
from ..run.branching import beginning, parent_of
from ..run.clamped import attention_at_branch
from ..run.stored import origin_of, teacher_attention, teacher_of, ticket_origin
from ..store import RunInfo, check_writable, delete_runs, read_run
from ..trackers import check_trackers
from .continued import change_of_numerics
from .interrupt import graceful_interrupt
from .memory import MemoryRun
from .plan import USABLE, check_fits, checkpoint_bytes, fitting_lanes, lane_bytes, pack, plan_workers
from .precision import resolved
from .preload import preload
from .progress import GuardedProgress
from .remaining import Notes, print_line, print_notes, remaining
from .scheduler import Group, Scheduler, usable_cores
from .sink import RunWriter
from .waiting import wait_for


def train(
    config: RunConfig,
    *,
    seeds: int | Iterable[int] | None = None,
    device: str = "auto",
    runs: str | Path = "runs",
    lanes: int | None = None,
    progress: Progress | None = None,
    track: Any = (),
) -> list[RunInfo]:
    """Train one configuration with several seeds in parallel; finished runs are returned unchanged.

    seeds    number of seeds (0 … n−1), or a list of seeds; by default that of `config`, which is 0 unless it is set
    device   auto, cpu, cuda or cuda:1
    runs     folder with one subfolder per run
    lanes    how many runs train at once: per fleet on a GPU (None: limited by memory), in total on a CPU (None: by cores)
    track    "tensorboard", "wandb", "trackio", a function from a run's id and settings to an object with `log(row)` and
             `finish()`, or several: they are sent every new row

    Ctrl-C saves the runs and returns them with status "stopped"; the same call continues from there.
    """
    configs = with_seeds(config, chosen_seeds(seeds))
    return train_all(configs, device=device, runs=runs, lanes=lanes, progress=progress, track=track)


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
    notify: Callable[[str], None] = print_line,
    track: Any = (),
) -> list[RunInfo]:
    """Train any configurations; those of equal shape share a fleet. Everything is checked before anything is written.

    stats   the steps and seconds of training are added to it
    again   delete the stored runs and train them from scratch
    notify  called with one line about each way in which stored runs differ from the request
    track   as in `train`
    """
    # memory is looked up several times: where nothing is on a GPU yet, there is nothing to find among the objects of imports
    with spared_at_first(collect=torch.cuda.is_initialized()):
        return _train_all(configs, device, runs, lanes, progress, save_every, stats, again, notify, track)


def _train_all(
    configs: Iterable[RunConfig],
    device: str,
    runs: str | Path,
    lanes: int | None,
    progress: Progress | None,
    save_every: float,
    stats: TrainingStats | None,
    again: bool,
    notify: Callable[[str], None],
    track: Any,
) -> list[RunInfo]:
    tracked = tuple(track) if isinstance(track, (list, tuple)) else (track,)
    check_trackers(tracked)
    place = resolve_device(device)
    wanted = combine(resolved(config.check(), place) for config in configs)
    if not wanted:
        raise ConfigError("seeds", "no runs requested")
    if (dtype := torch.get_default_dtype()) != torch.float32:
        raise ConfigError("precision", f"weights are float32, but torch.get_default_dtype() is {dtype}")
    check_writable(runs)
    for config in wanted.values():  # runs that are referred to must exist and match
        teacher_of(config, runs)
        if not has_begun(Path(runs) / config.id):
            origin_of(config, runs)
            parent_of(config, runs)
    if again:
        check_fits(wanted.values(), place, free_memory(place))
        deleted = delete_runs(Path(runs) / id for id in wanted)
        print(f"deleted {deleted} stored run{'s' * (deleted != 1)}; training from scratch", file=sys.stderr)
    left = [wanted[id] for id in remaining(wanted, runs, notify)]
    if left:
        try_early(place)
    check_fits(left, place, free_memory(place))  # a finished run is returned on any machine
    failures: list[tuple[Job, Exception]] = []
    told: set[str] = set()
    while left:
        busy = _train_rest(
            left, runs, place, lanes, progress, save_every, stats or TrainingStats(), failures, tracked, notify
        )
        waited = {config.id: config for config in wait_for(busy, runs, told)}
        left = [wanted[id] for id in remaining(waited, runs, notify)]
    if failures:
        _, error = failures[0]
        raise error if len(wanted) == 1 else StoreError(_failed(failures, len(wanted))) from error
    return [read_run(Path(runs) / id) for id in wanted if (Path(runs) / id).exists()]


def has_begun(run: Path) -> bool:
    """Whether a run has a checkpoint to continue from: it needs the origin of its ticket no more."""
    try:
        return run.exists() and read_run(run).epoch > 0
    except StoreError:
        return False  # it fails when it is opened


def _failed(failures: list[tuple[Job, Exception]], requested: int) -> str:
    job, error = failures[0]
    first = f"run {job.config.id} failed: {error}"
    return f"{len(failures)} of {requested} runs failed; the same command tries them again. The first: {first}"


def train_in_memory(
    runs: Sequence[MemoryRun],
    *,
    device: str = "auto",
    lanes: int | None = None,
    progress: Progress | None = None,
    stats: TrainingStats | None = None,
    fit_only: bool = False,
) -> None:
    """Train runs that are not stored, each to its last epoch; those that were trained before continue.

    The precision of each must be chosen (`precision.resolved`), and none may refer to a stored run. Ctrl-C leaves those that are
    not finished with status "stopped".

    fit_only   measure loss and accuracy alone: of a run that is stored later, other columns begin where it is stored
    """
    place = resolve_device(device)
    left = {run.config.id: run for run in runs if not run.finished}
    if len(left) < sum(not run.finished for run in runs):
        raise ValueError("a run is given twice")
    if not left:
        return
    configs = [run.config for run in left.values()]
    free = free_memory(place)
    check_fits(configs, place, free)
    name, record = device_name(place), {"measures": list(measures.entries())}
    for config in configs:
        config.task.require_data()

    def job(config: RunConfig, now: Numerics) -> Job:
        run = left[config.id]
        run.device, run.record, run.numerics = name, record | run.record, now
        return Job(config=config, sink=run)

    failures: list[tuple[Job, Exception]] = []
    # what is not stored is saved at the end only
    own, stay = stats or TrainingStats(), _stay(configs, place, free)
    _train_jobs(configs, job, place, lanes, progress, math.inf, own, failures, fit_only=fit_only, stay=stay, free=free)
    if failures:
        raise StoreError(_failed(failures, len(runs))) from failures[0][1]


STAYING = 0.05
"""Fraction of a GPU's memory for the checkpoints of runs in memory: they are not copied to the host, and back to be continued."""


def _stay(configs: Sequence[RunConfig], device: torch.device, free: int) -> bool:
    """Whether the checkpoints of runs in memory stay on the GPU, beside those that are there already."""
    if device.type != "cuda":
        return False
    there = torch.cuda.memory_allocated(device)
    more = sum(len(group) * checkpoint_bytes(group[0]) for group in pack((config, config) for config in configs))
    return there + more <= STAYING * (free + there)


def _train_rest(
    configs: list[RunConfig],
    runs: str | Path,
    device: torch.device,
    lanes: int | None,
    progress: Progress | None,
    save_every: float,
    stats: TrainingStats,
    failures: list[tuple[Job, Exception]],
    track: Sequence[Any],
    notify: Callable[[str], None],
) -> list[RunConfig]:
    """Train stored runs; returns those that other processes train, or an empty list if training is interrupted."""
    notes: Notes = {}

    def job(config: RunConfig, now: Numerics) -> Job:
        with suppress(StoreError):  # a damaged run fails when it is opened
            if change := change_of_numerics(Path(runs) / config.id, now()):
                notes.setdefault(change, []).append(config.id)
        return _job(config, runs, device, now, track)

    return _train_jobs(
        configs, job, device, lanes, progress, save_every, stats, failures, lambda: print_notes(notes, notify)
    )


Numerics = Callable[[], dict[str, Any]]
"""Returns what the bits of a run depend on. Asked for when a run is opened: there are fewer lanes after memory ran out."""


def _train_jobs(
    configs: list[RunConfig],
    job: Callable[[RunConfig, Numerics], Job],
    device: torch.device,
    lanes: int | None,
    progress: Progress | None,
    save_every: float,
    stats: TrainingStats,
    failures: list[tuple[Job, Exception]],
    opened: Callable[[], None] = lambda: None,
    fit_only: bool = False,
    stay: bool = False,
    free: int | None = None,
) -> list[RunConfig]:
    """Train these runs, each a job; returns those that other processes train, or an empty list if training is interrupted.

    opened   called when all jobs are made, before training
    free     free memory in bytes, if it was looked up before
    """
    try_early(device)
    cores, free = usable_cores(), free_memory(device) if free is None else free
    workers = plan_workers(configs, device, cores, lanes)
    if device.type == "cpu":
        if lanes is None:
            workers = max(1, min(workers, int(USABLE * free / max(lane_bytes(config) for config in configs))))
        groups = [_group(configs, 1, device, job, fit_only, stay)]
    else:
        groups = [
            _group(group, lanes or fitting_lanes(group[0], len(group), free, workers), device, job, fit_only, stay)
            for group in pack((config, config) for config in configs)
        ]
    opened()
    preload()
    begin = time.monotonic()
    with graceful_interrupt() as interrupted:
        scheduler = Scheduler(
            groups,
            workers=workers,
            cores=cores,
            device=device,
            progress=GuardedProgress(progress) if progress else None,
            interrupted=interrupted,
            save_every=save_every,
            notify=lambda line: print(line, file=sys.stderr),
        )
        try:
            scheduler.run()
        finally:
            stats += scheduler.stats
            stats.seconds += time.monotonic() - begin
        failures += scheduler.failures
        return [] if interrupted() else [job.config for job in scheduler.skipped]


def _group(
    configs: list[RunConfig],
    lanes: int,
    device: torch.device,
    job: Callable[[RunConfig, Numerics], Job],
    fit_only: bool = False,
    stay: bool = False,
) -> Group:
    group = Group(waiting=deque(), lanes=lanes, fit_only=fit_only, stay=stay)

    def now() -> dict[str, Any]:
        return numerics(device, min(group.lanes, len(configs)))

    group.waiting.extend(job(config, now) for config in configs)
    return group


def _job(
    config: RunConfig,
    runs: str | Path,
    device: torch.device,
    numerics: Callable[[], dict[str, Any]],
    track: Sequence[Any] = (),
) -> Job:
    config.task.require_data()
    teacher = teacher_of(config, runs)
    # a teacher may be trained further: a run that continues keeps the epoch it began with
    record = {"measures": list(measures.entries())} | ({"teacher_epoch": teacher.info.epoch} if teacher else {})
    parent = None if has_begun(Path(runs) / config.id) else parent_of(config, runs)
    if parent is not None:
        record |= parent.record()
    begin = partial(beginning, config, runs) if config.branch.run else None
    sink = RunWriter(runs, config, device_name(device), record, numerics, track, begin)
    return Job(
        config=config,
        sink=sink,
        target=lambda: teacher_attention(
            config, runs, sink.folder.manifest.get("teacher_epoch") if sink.folder else None
        ),
        origin=lambda: ticket_origin(config, runs),
        at_branch=attention_at_branch(config, Path(runs) / config.id),
    )
