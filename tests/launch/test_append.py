"""Rows of a run in training are on disk before they are saved; that they cannot be is one line, and training goes on."""

import errno
import math
from dataclasses import replace

from grokscope.config import Log
from grokscope.launch.local import train_all
from grokscope.launch.sink import RunWriter
from grokscope.store import Follower, RunFolder
from grokscope.store.tail import find_tail


def test_rows_are_followed_while_a_run_trains_and_end_up_in_its_table_once(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("grokscope.fleet.engine._APPEND_EVERY", 0.0)
    monkeypatch.setattr("grokscope.fleet.engine._APPENDING", math.inf)
    config = replace(tiny, epochs=20, log=Log(every=5))
    follower = Follower(tmp_path / config.id)
    seen = []

    class Watching:
        def update(self, lanes, waiting):
            follower.poll()
            seen.append((follower.info.status, follower.info.epoch, follower.columns["epoch"].tolist()))

    (run,) = train_all([config], runs=tmp_path, device="cpu", progress=Watching(), save_every=math.inf)
    for count, (status, saved, epochs) in enumerate(seen[:-1], 1):
        assert (status, saved, epochs) == ("running", 0, [5.0 * place for place in range(count)])
    follower.poll()
    assert (follower.info.status, follower.columns["epoch"].tolist()) == ("done", [0, 5, 10, 15, 20])
    assert not find_tail(run.path).exists()


def test_a_tail_that_cannot_be_written_is_one_line(tiny, tmp_path, monkeypatch, capsys):
    def full(self, rows):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RunFolder, "append", full)
    writer = RunWriter(tmp_path, tiny, "cpu")
    writer.append([{"epoch": 0}])  # not open yet
    writer.resume()
    writer.append([{"epoch": 0}])
    writer.append([{"epoch": 5}])
    writer.close()
    line = f"run {tiny.id}: rows are not shown before they are saved (No space left on device)\n"
    assert capsys.readouterr().err == line
