"""Training anywhere: the runs are planned here, and trained by this process, by one process per GPU, or by a cluster."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ..config import RunConfig, combine, require_config
from ..config.references import in_stages, origins
from ..errors import ConfigError, StoreError
from ..fleet import Progress, TrainingStats
from ..run.branching import parent_of
from ..run.stored import origin_of, teacher_of
from ..store import RunInfo, check_writable, delete_runs, read_run
from . import local
from .executors import Executor, Submission, parse_place
from .interrupt import graceful_interrupt
from .jobs import busy_elsewhere
from .overview import Watch
from .precision import auto_precision
from .remaining import print_line, remaining
from .worker import Outcome, make_task

_PAUSE = 0.2
"""Seconds between two looks at the tasks."""
_SHOWN = 3
"""Problems of workers that are shown."""


def train_all(
    configs: Iterable[RunConfig],
    *,
    on: str | Executor = "local",
    options: Mapping[str, Any] | None = None,
    device: str = "auto",
    runs: str | Path = "runs",
    lanes: int | None = None,
    progress: Progress | None = None,
    save_every: float = 20.0,
    stats: TrainingStats | None = None,
    again: bool = False,
    track: Any = (),
    quiet: bool = True,
    notify: Callable[[str], None] = print_line,
) -> list[RunInfo]:
    """Train any configurations; those of equal shape share a fleet. Everything is checked before anything is written.

    on        local: every GPU of this machine, one process each; slurm; ray, or ray://HOST:PORT
    options   settings of the executor, such as {"slurm.partition": "gpu"}
    stats     the steps and seconds of training are added to it
    again     delete the stored runs and train them from scratch
    track     as in `train`
    quiet     print no progress of runs that other processes train
    notify    called with one line about each way in which stored runs differ from the request

    Runs that others of `configs` refer to, as teacher or by their ticket, are trained first. On a cluster, Ctrl-C ends the call and
    leaves the tasks to it; the same call then waits for them.
    """
    if isinstance(configs, RunConfig):
        raise ConfigError("configs", "is one RunConfig; give a list of them, or use grokscope.train")
    given = dict(options or {})
    place = on if isinstance(on, Executor) else parse_place(on, given)
    if given:
        raise ConfigError(next(iter(given)), f"is not a setting of --on {place.kind}")
    tracked = tuple(track) if isinstance(track, (list, tuple)) else (track,)
    wanted = combine(with_precision(require_config(config).check(), place, device) for config in configs)
    if not wanted:
        raise ConfigError("seeds", "no runs requested")
    if place.in_process(device):
        return _here(wanted, place.own_device(device), runs, lanes, progress, save_every, stats, again, tracked, notify)
    _check(wanted, runs)
    if again:
        deleted = delete_runs(Path(runs) / id for id in wanted)
        print(f"deleted {deleted} stored run{'s' * (deleted != 1)}; training from scratch", file=sys.stderr)
    begin = time.monotonic()
    outcomes = _elsewhere(wanted, place, device, Path(runs), lanes, save_every, tracked, None if quiet else _print)
    if stats is not None:
        for outcome in outcomes:
            stats.run_steps += outcome["steps"][0]
            stats.lane_steps += outcome["steps"][1]
        stats.seconds += time.monotonic() - begin
    return _stored(wanted, runs)


def with_precision(config: RunConfig, place: Executor, device: str) -> RunConfig:
    """The config with the precision that it is trained and stored with on that executor."""
    return replace(config, precision=precision_on(place, device)) if config.precision == "auto" else config


def precision_on(place: Executor, device: str) -> Literal["float32", "tf32"]:
    """What "auto" means there. The GPUs of a cluster are taken to have TF32."""
    from ..ops.devices import resolve_device

    if place.in_process(device):
        return auto_precision(resolve_device(place.own_device(device)))
    return "tf32" if place.uses_gpu(device) else "float32"


def _here(
    wanted: dict[str, RunConfig],
    device: str,
    runs: str | Path,
    lanes: int | None,
    progress: Progress | None,
    save_every: float,
    stats: TrainingStats | None,
    again: bool,
    track: Sequence[Any],
    notify: Callable[[str], None],
) -> list[RunInfo]:
    """Train in this process, stage after stage."""
    stages = in_stages(wanted.values())
    if len(stages) > 1:
        _check(wanted, runs)
    for stage in stages:
        trained = local.train_all(
            stage,
            device=device,
            runs=runs,
            lanes=lanes,
            progress=progress,
            save_every=save_every,
            stats=stats,
            again=again,
            track=track,
            notify=notify,
        )
        if any(run.status in ("stopped", "running") for run in trained) or len(trained) < len(stage):
            break  # interrupted
    return _stored(wanted, runs)


def _check(wanted: Mapping[str, RunConfig], runs: str | Path) -> None:
    check_writable(runs)
    check_known(wanted, runs)


def check_known(wanted: Mapping[str, RunConfig], runs: str | Path) -> None:
    """Raise for what can be known here: data, and runs that are referred to but neither stored nor wanted."""
    for config in wanted.values():
        config.task.require_data()
        if not origins(config) & wanted.keys():
            teacher_of(config, runs)
            if not local.has_begun(Path(runs) / config.id):
                origin_of(config, runs)
                parent_of(config, runs)


def _elsewhere(
    wanted: Mapping[str, RunConfig],
    place: Executor,
    device: str,
    runs: Path,
    lanes: int | None,
    save_every: float,
    track: Sequence[Any],
    notify: Callable[[str], None] | None,
) -> list[Outcome]:
    """Submit what is left and no earlier job has, and wait until all of it has ended, or for Ctrl-C."""
    left = [wanted[id] for id in remaining(wanted, runs)]
    earlier = busy_elsewhere(place, runs, {config.id for config in left})
    mine = [config for config in left if config.id not in earlier.runs]
    if found := len(left) - len(mine):
        print(
            f"{found} run{'s are' if found > 1 else ' is'} in jobs that have not ended: {earlier.words}",
            file=sys.stderr,
        )
    chunks = place.cut(mine, device, lanes) if mine else ()
    tasks = [
        make_task(chunk, runs=runs, device=place.task_device(device), save_every=save_every, track=track)
        for chunk in chunks
    ]
    submission = place.submit(tasks, chunks, runs) if tasks else None
    watch = Watch({config.id: config for config in left}, runs, notify)
    with graceful_interrupt() as interrupted:
        while (submission is not None and submission.poll()) or (found and earlier.active()):
            if interrupted():
                break
            watch.update()
            time.sleep(_PAUSE)
        stopped = interrupted()
        if submission is not None and (line := submission.close(stopped)):
            print(line, file=sys.stderr)
    if submission is None:
        return []
    if not stopped:
        _raise_problems(submission, wanted)
    return submission.outcomes()


def _raise_problems(submission: Submission, wanted: Mapping[str, RunConfig]) -> None:
    outcomes = submission.outcomes()
    bad = [outcome for outcome in outcomes if outcome["problem"]]
    lines = [f"{outcome['host']}: {outcome['problem']}" for outcome in bad]
    if refused := [line for line, outcome in zip(lines, bad, strict=True) if outcome["refused"]]:
        raise ConfigError("--on", f"a worker refused the runs. {refused[0]}")
    if lost := submission.lost():
        lines.append(lost)
    if not lines:
        return
    for line in lines[1:_SHOWN]:
        print(line, file=sys.stderr)
    raise StoreError(
        f"{len(lines)} task{'s' * (len(lines) > 1)} failed; the same command tries again. The first: {lines[0]}"
    )


def _stored(wanted: Mapping[str, RunConfig], runs: str | Path) -> list[RunInfo]:
    return [read_run(Path(runs) / id) for id in wanted if (Path(runs) / id).exists()]


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
