"""A folder of runs that does not exist: every command names it, with the nearest one, and exits with 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from grokscope.launch import train_all
from grokscope.store import nearest_folder

COMMANDS = [
    ["status"],
    ["cancel", "--all"],
    ["cancel", "12"],
    ["runs"],
    ["report"],
    ["tag", "--where", "status=done", "--add", "x"],
    ["tag", "3f9a", "--add", "x"],
    ["show", "3f9a"],
    ["plot", "accuracy"],
    ["check"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_it_is_named_with_the_nearest_one(run, tiny, tmp_path, words):
    train_all([tiny], runs=tmp_path / "demo" / "runs", device="cpu")
    for wrong in ("dem/runs", "demo/rns", "dem"):
        assert run(*words, "--runs", wrong) == (2, "", f"{wrong}: no such folder of runs. Did you mean demo/runs?\n")
    (tmp_path / "link").symlink_to("gone")
    code, _, err = run(*words, "--runs", "link")
    assert (code, err) == (2, "link: a link to a folder that does not exist. Choose from: demo/runs.\n")
    assert not (tmp_path / "dem").exists()


def test_folders_without_runs_are_not_offered(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "src" / "module").mkdir(parents=True)
    assert nearest_folder(tmp_path / "rnus") == ""
    assert nearest_folder(Path("/nowhere/at/all")) == ""
