"""Commands about work in progress: status, cancel."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .app import Json, Runs, app
from .printing import print_table, to_json

if TYPE_CHECKING:
    from ..launch.jobs import Record
    from ..store import RunInfo

MOST = 40
"""Runs in training that are listed; --json lists all."""


@app.command()
def status(folder: Runs = Path("runs"), as_json: Json = False) -> None:
    """Show what trains where: jobs of clusters, runs in training with their host, progress, speed and estimated end.

    Progress is that of the last save, at most about 20 seconds ago. The end is estimated as if no run stopped early, and as if runs
    that wait for a job were as long as the longest in training.
    """
    from ..launch.jobs import records
    from ..store import FINISHED, list_runs

    found = {run.id: run for run in list_runs(folder)}
    jobs = [job for record in records(folder) for job in _jobs(record, found)]
    training = [_progress(run) for run in found.values() if run.status == "running"]
    waiting = {id for job in jobs for id in job.pop("ids") if id not in found or found[id].status not in FINISHED}
    counts = Counter(run.status for run in found.values())
    rate = sum(run["epochs_per_s"] for run in training)
    waiting -= {run["run"] for run in training}
    left = _seconds_left(training, len(waiting), rate)
    total = {"runs": dict(counts), "waiting": len(waiting), "epochs_per_s": rate, "seconds_left": left}
    if as_json:
        print(to_json({"jobs": jobs, "training": training, "total": total}))
        return
    _print(jobs, training, total)


@app.command()
def cancel(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="JOB", help="Jobs or submissions, as `grokscope status` names them.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Cancel all jobs of this folder of runs.")] = False,
    folder: Runs = Path("runs"),
) -> None:
    """End jobs of a cluster. Their runs are saved, and the command that submitted them continues them later."""
    from ..launch.jobs import records
    from ..store import check_runs_folder

    if not names and not every:
        raise ConfigError("JOB", "name jobs of `grokscope status`, or give --all")
    check_runs_folder(folder)
    stored = records(folder)
    known = {name for record in stored for name in (record.name, *record.jobs, *_arrays(record))}
    for name in names or []:
        if name not in known:
            raise ConfigError("JOB", f"{folder} has no job {name!r}; grokscope status lists them")
    ended = 0
    for record in stored:
        active = record.active()
        whole = every or record.name in (names or [])
        chosen = [job for job in active if whole or job in (names or []) or job.partition("_")[0] in (names or [])]
        if chosen:
            record.executor().cancel(record.__dict__, chosen)
            ended += len(chosen)
    print(f"cancelled {ended} task{'s' * (ended != 1)}; their runs are saved")


def _arrays(record: Record) -> set[str]:
    return {job.partition("_")[0] for job in record.jobs}


def _jobs(record: Record, found: dict[str, RunInfo]) -> list[dict[str, Any]]:
    """The jobs of a record that have not ended; all of them, with the reason, where the cluster does not say."""
    from ..store import FINISHED

    try:
        active = record.active()
    except ConfigError as error:
        print(f"{record.on} cannot be asked: {error}", file=sys.stderr)
        active = dict.fromkeys(record.jobs, "unknown")
    return [
        {
            "job": job,
            "on": record.on,
            "state": state,
            "runs": len(record.jobs[job]),
            "finished": sum(id in found and found[id].status in FINISHED for id in record.jobs[job]),
            "ids": record.jobs[job],
        }
        for job, state in active.items()
        if job in record.jobs
    ]


def _progress(run: RunInfo) -> dict[str, Any]:
    """One run in training. Speed is the mean since its first epoch."""
    from ..store.lease import find, read_holder

    lease = find(run.path)
    holder = read_holder(lease) if lease else None
    epochs = run.config.get("epochs")
    rate = run.epoch / run.seconds if run.seconds else 0.0
    return {
        "run": run.id,
        "host": holder.host if holder else "",
        "pid": holder.pid if holder else None,
        "job": holder.job if holder else "",
        "epoch": run.epoch,
        "epochs": epochs,
        "epochs_per_s": rate,
        "seconds_left": (epochs - run.epoch) / rate if epochs and rate else None,
    }


def _seconds_left(training: list[dict[str, Any]], waiting: int, rate: float) -> float | None:
    """Until all runs have ended, those that wait included; None if that is unknown."""
    known = [run for run in training if run["seconds_left"] is not None]
    if not known:
        return None
    epochs = sum(run["epochs"] - run["epoch"] for run in known) + waiting * max(run["epochs"] for run in known)
    return max(*(run["seconds_left"] for run in known), epochs / rate if waiting else 0.0)


def _print(jobs: list[dict[str, Any]], training: list[dict[str, Any]], total: dict[str, Any]) -> None:
    from rich.table import Table

    from ..launch.overview import clock

    if jobs:
        table = Table(box=None, pad_edge=False)
        for header in ("job", "on", "state", "runs finished"):
            table.add_column(header, no_wrap=True)
        for job in jobs:
            table.add_row(job["job"], job["on"], job["state"], f"{job['finished']} of {job['runs']}")
        print_table(table, 80)
        print()
    if training:
        table = Table(box=None, pad_edge=False)
        for header in ("run", "where", "job", "epoch", "epochs/s", "at most left"):
            table.add_column(header, no_wrap=True)
        for run in training[:MOST]:
            left = clock(run["seconds_left"]) if run["seconds_left"] is not None else ""
            where = f"{run['host']}:{run['pid']}" if run["host"] else ""
            epoch = f"{run['epoch']} / {run['epochs']}" if run["epochs"] else str(run["epoch"])
            table.add_row(run["run"], where, run["job"], epoch, f"{run['epochs_per_s']:.1f}", left)
        print_table(table, 100)
        if len(training) > MOST:
            print(f"… and {len(training) - MOST} more")
        print()
    counts = [f"{count} {name}" for name, count in total["runs"].items()]
    counts += [f"{total['waiting']} waiting for a job"] if total["waiting"] else []
    line = ", ".join(counts) or "no runs"
    if training:
        line += f"; {total['epochs_per_s']:,.0f} epochs/s"
        line += f", at most {clock(total['seconds_left'])} left" if total["seconds_left"] is not None else ""
    print(line)
