"""Deleting run folders: all or nothing, and never what is not a run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from sample_run import ID, content, open_run, save_next

from grokscope.errors import StoreError
from grokscope.store import delete_runs, find_run, list_runs


def make(runs: Path, *ids: str) -> list[Path]:
    for id in ids:
        with open_run(runs, id) as run:
            save_next(run, keep=True)
    return [runs / id for id in ids]


def test_runs_are_deleted_and_the_others_stay(tmp_path: Path) -> None:
    first, second, third = make(tmp_path, "aa", "bb", "cc")
    before = content(second)
    assert delete_runs([first, third, tmp_path / "missing"]) == 2
    assert os.listdir(tmp_path) == ["bb"]
    assert content(second) == before


def test_a_deleted_run_can_be_made_anew(tmp_path: Path) -> None:
    delete_runs(make(tmp_path, ID))
    with open_run(tmp_path) as run:
        assert run.latest_checkpoint() is None
        assert len(run.metrics()) == 0


def test_a_run_that_is_open_is_refused_and_nothing_is_deleted(tmp_path: Path) -> None:
    paths = make(tmp_path, "aa", "bb")
    with (
        open_run(tmp_path, "bb"),
        pytest.raises(StoreError, match=r"^run bb is being trained; nothing was deleted$"),
    ):
        delete_runs(paths)
    assert sorted(os.listdir(tmp_path)) == ["aa", "bb"]


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    paths = make(tmp_path, "aa", "bb")
    (paths[1] / "model.bin").write_text("of somebody else")
    with pytest.raises(StoreError, match=r"bb: holds model.bin, which is not part of a run; nothing was deleted$"):
        delete_runs(paths)
    assert sorted(os.listdir(tmp_path)) == ["aa", "bb"]


def test_a_link_is_refused(tmp_path: Path) -> None:
    (path,) = make(tmp_path / "elsewhere", "aa")
    (tmp_path / "aa").symlink_to(path)
    with pytest.raises(StoreError, match=r"aa: not a folder; nothing was deleted$"):
        delete_runs([tmp_path / "aa"])
    assert find_run(tmp_path / "elsewhere", "aa").epoch == 2


def test_a_damaged_run_can_be_deleted(tmp_path: Path) -> None:
    (path,) = make(tmp_path, "aa")
    (path / "state.json").write_text("{")
    assert find_run(tmp_path, "a", damaged=True).status == "damaged"
    with pytest.raises(StoreError, match="damaged"):
        find_run(tmp_path, "a")
    assert delete_runs([path]) == 1
    assert os.listdir(tmp_path) == []


def test_killed_while_deleting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is gone in one step; what is left of it is hidden, and goes with the next deletion of that run."""
    (path,) = make(tmp_path, "aa")

    def killed(folder: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "rmtree", killed)
        delete_runs([path])
    assert list_runs(tmp_path) == []
    make(tmp_path, "aa")
    assert delete_runs([path]) == 1
    assert os.listdir(tmp_path) == []


def test_a_failure_says_how_many_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = make(tmp_path, "aa", "bb")
    replace = os.replace

    def denied(source: Path, target: Path) -> None:
        if Path(source).name == "bb":
            raise PermissionError(13, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", denied)
    with pytest.raises(StoreError) as error:
        delete_runs(paths)
    assert str(error.value) == f"{paths[1]}: cannot be deleted (Permission denied); 1 of 2 runs were deleted before"
    assert os.listdir(tmp_path) == ["bb"]
