"""Listing and finding runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sample_run import CONFIG, open_run, save_next

from grokscope.errors import StoreError
from grokscope.store import find_run, list_runs, read_checkpoint, read_metrics, read_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for id in ("c0ffee", "c0de", "beef"):
        with open_run(folder, id=id, config={**CONFIG, "id": id}) as run:
            save_next(run)
    return folder


def test_runs_are_listed_in_the_order_of_their_making(runs: Path) -> None:
    listed = list_runs(runs)
    assert [run.id for run in listed] == ["c0ffee", "c0de", "beef"]
    first = listed[0]
    assert first.config == {**CONFIG, "id": "c0ffee"}
    assert (first.status, first.epoch, first.seconds, first.summary) == ("stopped", 2, 0.5, {"t_mem": 1.0})
    assert (first.path, first.manifest["device"]) == (runs / "c0ffee", "cpu")


def test_status_is_running_while_open_and_stopped_after(runs: Path) -> None:
    with open_run(runs, id="beef", config={**CONFIG, "id": "beef"}) as run:
        assert read_run(runs / "beef").status == "running"
        save_next(run, status="stopped")
        assert read_run(runs / "beef").status == "running"
    assert read_run(runs / "beef").status == "stopped"


def test_a_run_being_made_is_not_listed(runs: Path) -> None:
    (runs / ".new-dead").mkdir()
    (runs / ".new-dead" / "config.json").write_text("{}")
    assert len(list_runs(runs)) == 3


def test_find_by_id_or_its_beginning(runs: Path) -> None:
    assert find_run(runs, "c0ffee").id == "c0ffee"
    assert find_run(runs, "b").id == "beef"
    open_run(runs, id="c0").close()
    assert find_run(runs, "c0").id == "c0"


def test_a_whole_id_is_found_without_listing_the_folder(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [run.id for run in list_runs(runs)]

    def scandir(path: object) -> None:
        raise AssertionError("the folder was listed")

    monkeypatch.setattr("os.scandir", scandir)
    assert [find_run(runs, id).id for id in ids] == ids


@pytest.mark.parametrize("path", ["../{folder}/{id}", "./{id}", "{id}/../{id}"])
def test_an_id_is_a_name_and_no_path(runs: Path, path: str) -> None:
    id = list_runs(runs)[0].id
    with pytest.raises(StoreError, match="no run in"):
        find_run(runs, path.format(folder=runs.name, id=id))


def test_an_ambiguous_beginning(runs: Path) -> None:
    with pytest.raises(StoreError, match=r"^2 runs in \S+ begin with 'c0': c0de, c0ffee$"):
        find_run(runs, "c0")
    for number in range(4):
        open_run(runs, id=f"c0{number}").close()
    with pytest.raises(StoreError, match=r"^6 runs in \S+ begin with 'c0': c00, c01, c02, c03, …$"):
        find_run(runs, "c0")


def test_an_unknown_id(runs: Path) -> None:
    with pytest.raises(StoreError, match=r"^no run in \S+ is called 'bef'. Did you mean beef\?$"):
        find_run(runs, "bef")
    with pytest.raises(StoreError, match=r"Did you mean c0ffee\?"):
        find_run(runs, "coffee")


def test_folders_without_runs(tmp_path: Path, runs: Path) -> None:
    assert list_runs(tmp_path) == []
    with pytest.raises(StoreError, match="contains no runs"):
        find_run(tmp_path, "x")
    with pytest.raises(StoreError, match="nowhere: no such folder of runs"):
        list_runs(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="not a folder of runs, but a file"):
        list_runs(tmp_path / "file")
    with pytest.raises(StoreError, match="beef: a run, not a folder of runs"):
        list_runs(runs / "beef")


def test_a_run_without_checkpoints(runs: Path) -> None:
    open_run(runs, id="fresh").close()
    fresh = find_run(runs, "fresh")
    assert (fresh.epoch, fresh.summary, len(read_metrics(fresh))) == (0, {}, 0)
    with pytest.raises(StoreError, match="run fresh has no checkpoint yet"):
        read_checkpoint(fresh)


def test_listing_needs_no_heavy_package(runs: Path) -> None:
    program = """
import sys
from grokscope.store import find_run, list_runs
assert len(list_runs(sys.argv[1])) == 3 and find_run(sys.argv[1], "beef").epoch == 2
print(sorted({"torch", "pyarrow", "pandas", "numpy", "safetensors"} & set(sys.modules)))
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, str(runs)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
