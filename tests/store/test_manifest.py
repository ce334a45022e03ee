"""The commit in the manifest, and the words for a difference between configs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from grokscope.store.manifest import difference, git_commit


@pytest.fixture(autouse=True)
def only_our_own_repositories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run from a git hook, git would be told to work on another repository; and the user may have odd settings."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


def git(folder: Path, *words: str) -> str:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    done = subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_commit_of_a_clean_and_a_changed_checkout(tmp_path: Path) -> None:
    git(tmp_path, "init")
    clean, changed = tmp_path / "clean", tmp_path / "changed"
    for folder in (clean, changed):
        folder.mkdir()
        (folder / "code.py").write_text("1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    git(tmp_path, "tag", "v1")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert git_commit(clean) == commit
    (changed / "code.py").write_text("2\n")
    assert git_commit(changed) == f"{commit}-dirty"


def test_no_commit_outside_a_checkout_or_in_a_folder_it_does_not_track(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "installed").mkdir()
    (tmp_path / "code.py").write_text("1\n")
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "-m", "first")
    assert git_commit(tmp_path / "installed") is None
    assert git_commit(tmp_path / "not there") is None


def test_no_commit_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_commit(tmp_path) is None


@pytest.mark.parametrize(
    ("stored", "given", "words"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 1.0}}, ""),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b is 1 there and 2 here"),
        ({"a": {"b": 1}}, {"a": 1}, "a is {'b': 1} there and 1 here"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "a is [1, 2] there and [1, 3] here"),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, "a.c is only in the stored one"),
        ({}, {"a": None}, "a is only in the given one"),
    ],
)
def test_difference(stored: object, given: object, words: str) -> None:
    assert difference(stored, given) == words
