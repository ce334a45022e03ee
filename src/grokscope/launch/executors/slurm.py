"""SLURM, through submitit: one array job per stage, one task of it per chunk.

Before the time limit, and when a job is preempted or cancelled, the runs are saved. After a time limit the job queues itself
again, and it continues from there; so does one that SLURM requeues. Nothing depends on SLURM's accounting.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ConfigError, nearest
from ...settings import require
from ..chunks import Chunk, cut
from ..jobs import jobs_folder, new_name, save_record
from ..plan import MOST_LANES
from ..worker import Outcome, Task, work
from .base import Executor, executors, required

PER_GPU, PER_CORE = 128, 4
"""Runs per task, unless set: on a GPU, and per core."""
WAIT = 60
"""Seconds to wait for an answer of SLURM."""
LATEST = 600.0
"""Most seconds that a job takes to start this code."""
PAUSE = 5.0
"""Seconds between two questions about the same jobs."""


@executors.register("slurm")
@dataclass(frozen=True, kw_only=True)
class Slurm(Executor):
    """A SLURM cluster."""

    partition: str = ""
    """Partition; empty is the default one."""
    account: str = ""
    """Account that is charged; empty is the default one."""
    qos: str = ""
    """Quality of service; empty is the default one."""
    constraint: str = ""
    """Features that nodes must have."""
    time: int = 60
    """Time limit of a task in minutes. A task that reaches it queues itself again."""
    grace: int = 120
    """Seconds before the time limit at which the runs are saved."""
    requeues: int = 100
    """How often a task queues itself again."""
    gpus: int = 1
    """GPUs per task, 0 or 1; 0 with --device cpu."""
    cpus: int = 4
    """CPU cores per task."""
    memory: int = 0
    """Gigabytes of memory per task; 0 is the default of the partition."""
    runs: int = 0
    """Runs per task; 0 chooses 128 on a GPU, and 4 per core on a CPU."""
    parallel: int = 256
    """Tasks of an array that run at the same time."""

    def check(self) -> None:
        require(self.gpus in (0, 1), "gpus", f"{self.gpus} is neither 0 nor 1: a task trains on one device")
        for name in ("time", "cpus", "parallel"):
            require(getattr(self, name) >= 1, name, f"{getattr(self, name)} is not positive")
        for name in ("grace", "requeues", "memory", "runs"):
            require(getattr(self, name) >= 0, name, f"{getattr(self, name)} is negative")
        require(self.grace < 60 * self.time, "grace", f"{self.grace} seconds are not less than the time limit")

    def uses_gpu(self, device: str) -> bool:
        return self.gpus == 1 and device != "cpu"

    def cut(self, configs: Sequence[Any], device: str, lanes: int | None) -> tuple[Chunk, ...]:
        size = self.runs or (min(PER_GPU, MOST_LANES) if self.uses_gpu(device) else PER_CORE * self.cpus)
        return cut(configs, size=size, lanes=lanes, threads=self.cpus)

    def submit(self, tasks: Sequence[Task], chunks: Sequence[Chunk], runs: Path) -> SlurmSubmission:
        name = new_name()
        folder = jobs_folder(runs) / name
        jobs: dict[int, str] = {}
        try:
            for stage in range(1 + max(chunk.stage for chunk in chunks)):
                own = [number for number, chunk in enumerate(chunks) if chunk.stage == stage]
                before = sorted(
                    {jobs[number].partition("_")[0] for number, c in enumerate(chunks) if c.stage == stage - 1}
                )
                found = self._submit_stage(
                    [SlurmTask(tasks[n], 60 * self.time - self.grace) for n in own], folder, before
                )
                jobs |= dict(zip(own, found, strict=True))
        finally:
            if jobs:
                ids = {job: chunks[number].ids for number, job in jobs.items()}
                save_record(runs, self, name, ids, folder=str(folder))
            else:
                shutil.rmtree(folder, ignore_errors=True)  # tasks that were refused
        numbers = sorted({job.partition("_")[0] for job in jobs.values()}, key=int)
        shown = f"{len(tasks)} task{'s' * (len(tasks) > 1)} as SLURM job {', '.join(numbers)}"
        print(f"submitted {shown}; logs in {folder}", file=sys.stderr, flush=True)
        return SlurmSubmission(self, name, list(jobs.values()), folder)

    def _submit_stage(self, tasks: list[SlurmTask], folder: Path, before: list[str]) -> list[str]:
        """Ids of the jobs, one per task."""
        submitit = required("submitit", "slurm")
        if shutil.which("sbatch") is None or shutil.which("srun") is None:
            raise ConfigError("--on", "no SLURM on this machine: sbatch and srun are not in PATH")
        executor = submitit.SlurmExecutor(folder=folder, max_num_timeout=self.requeues)
        given = {"partition": self.partition, "account": self.account, "qos": self.qos, "constraint": self.constraint}
        if tasks[0].task["device"] == "cuda":
            given["gpus_per_node"] = "1"
        if self.memory:
            given["mem"] = f"{self.memory}GB"
        if before:
            given["dependency"] = ":".join(["afterany", *before])
        executor.update_parameters(
            job_name="grokscope",
            time=self.time,
            cpus_per_task=self.cpus,
            signal_delay_s=1,  # the task sets an alarm of its own, since SLURM may send this up to a minute early
            array_parallelism=self.parallel,
            additional_parameters={"requeue": True},
            **{name: value for name, value in given.items() if value},
        )
        try:
            with contextlib.redirect_stderr(io.StringIO()), executor.batch():  # submitit shows what sbatch says
                jobs = [executor.submit(task) for task in tasks]
        except (submitit.core.utils.FailedJobError, subprocess.SubprocessError) as error:
            raise _refusal(str(error), self) from None
        return [str(job.job_id) for job in jobs]

    def active(self, record: Mapping[str, Any]) -> dict[str, str]:
        states = _states(list(record["jobs"]))
        return {job: states[job] for job in record["jobs"] if job in states}

    def cancel(self, record: Mapping[str, Any], jobs: Sequence[str]) -> None:
        _call(["scancel", *jobs])


class SlurmTask:
    """What a job of SLURM runs."""

    def __init__(self, task: Task, seconds: float):
        """seconds   after which the runs are saved and the job queues itself again"""
        self.task, self.seconds = task, seconds

    def __call__(self) -> Outcome:
        requeue = signal.getsignal(signal.SIGUSR2)
        asked: list[int] = []

        def stop(number: int, frame: object) -> None:
            asked.append(number)
            signal.raise_signal(signal.SIGTERM)  # the fleet saves its runs and returns

        for number in (signal.SIGUSR2, signal.SIGALRM):
            signal.signal(number, stop)
        signal.setitimer(signal.ITIMER_REAL, max(1.0, self.seconds - self._late()))
        array, place = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
        job = f"{array}_{place}" if array else os.environ.get("SLURM_JOB_ID", "")
        outcome = work(self.task, job=job)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if asked and callable(requeue):
            requeue(signal.SIGUSR2, None)  # submitit's handler queues the job again, and exits
        return outcome

    def _late(self) -> float:
        """Seconds since SLURM started the job. Its clock is that of the controller: where the clock of this node cannot agree with
        it, the job is taken to have started just now."""
        late = time.time() - float(os.environ.get("SLURM_JOB_START_TIME") or time.time())
        return late if 0 <= late <= min(LATEST, self.seconds / 2) else 0.0

    def checkpoint(self) -> Any:
        """For submitit: what the job runs when it is queued again. The runs themselves are in the store."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


class SlurmSubmission:
    """Jobs of one submission."""

    def __init__(self, place: Slurm, name: str, jobs: Sequence[str], folder: Path):
        self.place, self.name, self.jobs, self.folder = place, name, list(jobs), folder
        self._left = set(jobs)

    def poll(self) -> bool:
        self._left &= _states(self.jobs).keys()
        return bool(self._left)

    def outcomes(self) -> list[Outcome]:
        return [outcome for job in self.jobs if (outcome := self._outcome(job)) is not None]

    def _outcome(self, job: str) -> Outcome | None:
        submitit = required("submitit", "slurm")
        path = submitit.core.utils.JobPaths(self.folder, job_id=job).result_pickle
        if job in self._left or not path.exists():
            return None
        kind, result = submitit.core.utils.pickle_load(path)
        return result if kind == "success" else None

    def lost(self) -> str:
        lost = [job for job in self.jobs if job not in self._left and self._outcome(job) is None]
        return f"SLURM job {', '.join(lost[:4])} ended early; see its log in {self.folder}" if lost else ""

    def close(self, interrupted: bool) -> str:
        if interrupted:
            return f"detached; the jobs continue. grokscope status shows them, grokscope cancel {self.name} ends them"
        return ""


def _states(jobs: Sequence[str]) -> dict[str, str]:
    """Jobs that have not ended, with their state and node in words. SLURM is asked every few seconds only."""
    numbers = tuple(sorted({job.partition("_")[0] for job in jobs}))
    asked, states = _answers.get(numbers, (-math.inf, {}))
    if time.monotonic() - asked < PAUSE:
        return states
    states = _ask(numbers)
    _answers[numbers] = (time.monotonic(), states)
    return states


_answers: dict[tuple[str, ...], tuple[float, dict[str, str]]] = {}


def _ask(numbers: Sequence[str]) -> dict[str, str]:
    states = {}
    for begin in range(0, len(numbers), 500):
        words = [
            "squeue",
            "--noheader",
            "--array",
            "--format=%i|%T|%N|%r",
            f"--jobs={','.join(numbers[begin : begin + 500])}",
        ]
        for line in _call(words, unknown_is_empty=True).splitlines():
            id, state, node, reason = line.strip().split("|", 3)
            where = f" on {node}" if node else f" ({reason})" if reason not in ("", "None") else ""
            if state not in ENDED:
                states[id] = f"{state.lower()}{where}"
    return states


ENDED = (
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "BOOT_FAIL",
    "DEADLINE",
    "PREEMPTED",
)


def _call(command: list[str], *, unknown_is_empty: bool = False) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    except FileNotFoundError:
        raise ConfigError("--on", f"no SLURM on this machine: {command[0]} is not in PATH") from None
    except subprocess.TimeoutExpired:
        raise ConfigError("--on", f"SLURM did not answer within {WAIT} seconds") from None
    if done.returncode and not (unknown_is_empty and "Invalid job id" in done.stderr):
        raise ConfigError("--on", f"{command[0]}: {_reason(done.stderr)}")
    return done.stdout


def _refusal(text: str, place: Slurm) -> ConfigError:
    """One line about a submission that sbatch refused, with the setting that it is about."""
    reason = _reason(text)
    for name in ("partition", "account", "qos", "constraint", "memory", "gpus", "cpus", "time"):
        value = getattr(place, name)
        if value and re.search(rf"\b{'features?' if name == 'constraint' else name}\b", reason, re.IGNORECASE):
            hint = f". {nearest(value, _partitions())}" if name == "partition" else ""
            return ConfigError(f"slurm.{name}", f"{value!r} was refused: {reason}{hint}")
    return ConfigError("--on", f"SLURM refused the job: {reason}")


def _partitions() -> list[str]:
    return sorted(set(_call(["sinfo", "--noheader", "--format=%R"]).split()))


def _reason(text: str) -> str:
    """What a command of SLURM complains about: its first error, or the one that ended it, without its own name."""
    found = re.findall(r"(?:sbatch|squeue|scancel|sinfo): (fatal|error): ([^\n]+)", text)
    lines = [line for kind, line in found if kind == "fatal"] + [line for _, line in found]
    words = [line for line in text.splitlines() if line.strip()]
    return (lines[0] if lines else words[-1] if words else "no reason given").strip()[:200]
