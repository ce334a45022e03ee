"""A task of SLURM on its node: when it saves its runs before the time limit, also with a clock that is not the controller's; and
what SLURM says when it refuses a job."""

import signal
import time

import pytest

from grokscope.errors import ConfigError
from grokscope.launch.executors import slurm
from grokscope.launch.executors.slurm import Slurm, SlurmTask
from grokscope.launch.worker import Outcome

MINUTE, HOUR = 60.0, 3600.0


@pytest.fixture
def alarm(monkeypatch):
    """The seconds after which a task with this limit saves its runs, if SLURM started its job `ago` seconds ago."""

    def after(limit: float, ago: float | None) -> float:
        asked: list[float] = []
        monkeypatch.setattr(signal, "setitimer", lambda kind, seconds: asked.append(seconds))
        monkeypatch.setattr(signal, "signal", lambda number, handler: None)
        monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
        outcome = Outcome(host="", problem="", refused=False, steps=(0, 0))
        monkeypatch.setattr(slurm, "work", lambda task, job: outcome)
        monkeypatch.delenv("SLURM_JOB_START_TIME", raising=False)
        if ago is not None:
            monkeypatch.setenv("SLURM_JOB_START_TIME", str(int(time.time() - ago)))
        assert SlurmTask({}, limit)() is outcome
        begun, ended = asked
        assert ended == 0
        return begun

    return after


@pytest.mark.parametrize("limit", [MINUTE, HOUR, 48 * HOUR])
@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_differs_by_an_hour_ends_no_task_at_once(alarm, limit, hours):
    assert alarm(limit, hours * HOUR) == limit


def test_the_time_that_a_job_took_to_start_counts(alarm):
    assert alarm(HOUR, 90) == HOUR - 90
    assert alarm(HOUR, 0) == alarm(HOUR, None) == HOUR


def test_an_unknown_partition_is_refused_with_the_nearest_one(monkeypatch):
    monkeypatch.setattr(slurm, "_call", lambda command: "gpu-long\ngpu\ngpu\ncpu\n")
    words = "sbatch: error: invalid partition specified: gpus\nsbatch: error: Batch job submission failed"
    error = slurm._refusal(words, Slurm(partition="gpus"))
    assert isinstance(error, ConfigError)
    assert str(error) == "slurm.partition: 'gpus' was refused: invalid partition specified: gpus. Did you mean gpu?"


def test_the_reason_is_what_ended_the_command(monkeypatch):
    words = "sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\nsbatch: fatal: no configuration"
    assert str(slurm._refusal(words, Slurm())) == "--on: SLURM refused the job: no configuration"
