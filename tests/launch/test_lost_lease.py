"""A run that another process takes over while it is being trained: nothing aborts, and the run is finished with the same bits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grokscope.launch import train_all
from grokscope.store import lease, read_metrics


class Thief:
    """Takes the lease of one run over after its first evaluations, as another process would if this one had been paused."""

    def __init__(self, folder, releases):
        self.folder, self.releases, self.taken = folder, releases, False

    def update(self, lanes, waiting):
        if self.taken or not any(lane.job.config.id == self.folder.name and lane.epoch >= 5 for lane in lanes):
            return
        self.taken = True
        stolen = lease.Lease.take(self.folder, self.folder.name, locked=True)
        if self.releases:
            stolen.release()


@pytest.mark.parametrize("releases", [True, False])
def test_a_run_that_was_taken_over_is_waited_for_and_finished(tiny, tmp_path, capsys, releases):
    configs = [replace(tiny, seed=seed) for seed in range(3)]
    expected = train_all(configs, runs=tmp_path / "undisturbed", device="cpu")
    thief = Thief(tmp_path / "runs" / configs[1].id, releases)
    trained = train_all(configs, runs=tmp_path / "runs", lanes=1, device="cpu", save_every=0.0, progress=thief)
    assert thief.taken
    assert [run.status for run in trained] == ["done"] * 3
    for one, other in zip(trained, expected, strict=True):
        columns = [name for name in read_metrics(one).column_names if not name.startswith("seconds")]
        assert read_metrics(one).select(columns).equals(read_metrics(other).select(columns))
    errors = capsys.readouterr().err.splitlines()
    assert [line for line in errors if "was taken over" in line]
    assert [line for line in errors if "being trained by another process: waiting for it" in line]
