"""Commands that train in stages on a cluster: Ctrl-C leaves the tasks to it, and the command ends instead of deciding too early."""

import pytest
import typer

from grokscope.cli.session import stage_trainer
from grokscope.fleet import TrainingStats
from grokscope.launch import jobs, submit
from grokscope.launch.executors.slurm import Slurm


@pytest.mark.parametrize("busy", [True, False])
def test_a_stage_whose_jobs_continue_ends_the_command(monkeypatch, tiny, tmp_path, busy):
    def earlier(place, runs, ids):
        return jobs.Earlier(runs=frozenset(ids if busy else ()), words="", active=lambda: busy)

    monkeypatch.setattr(submit, "train_all", lambda configs, **how: [])
    monkeypatch.setattr(jobs, "busy_elsewhere", earlier)
    train = stage_trainer(Slurm(), tmp_path, "cpu", None, False, TrainingStats())
    if not busy:
        assert train([tiny], ["a candidate"]) == []
        return
    with pytest.raises(typer.Exit) as end:
        train([tiny], ["a candidate"])
    assert end.value.exit_code == 130
