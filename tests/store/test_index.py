"""The index of a folder with many runs: the same list as without it, whatever has changed since it was written."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from many import make_runs
from sample_run import CONFIG, open_run, save_next
from test_many_runs import OPENS

from grokscope.store import delete_runs, index, list_runs
from grokscope.store.layout import INDEX


@pytest.fixture
def opened() -> Iterator[Counter[str]]:
    OPENS.counts = Counter()
    yield OPENS.counts
    OPENS.counts = None


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight finished runs and one that is not, in a folder that counts as large."""
    make_runs(tmp_path, arms=4, seeds=2, rows=6)
    with open_run(tmp_path, id="unfinished", config=CONFIG) as run:
        save_next(run)
    monkeypatch.setattr(index, "MANY", 3)
    return tmp_path


def plain(folder: Path) -> list[object]:
    """The list as it is without an index."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "MANY", 10**9)
        return list(list_runs(folder))


def test_the_second_listing_reads_the_index_and_gives_the_same(runs: Path, opened: Counter[str]) -> None:
    first = list_runs(runs)
    assert (runs / INDEX).exists()
    opened.clear()
    second = list_runs(runs)
    assert opened == {INDEX: 1, "config.json": 1, "manifest.json": 1, "state.json": 1, "lock": 1}
    assert second == first == plain(runs)
    assert len(second) == 9


def test_a_small_folder_has_no_index(tmp_path: Path) -> None:
    make_runs(tmp_path, arms=2, seeds=1, rows=6)
    list_runs(tmp_path)
    assert not (tmp_path / INDEX).exists()


def test_what_changed_is_read_again(runs: Path) -> None:
    ids = [run.id for run in list_runs(runs) if run.status == "done"]
    delete_runs([runs / ids[0]])
    for name, id in zip(("state.json", "config.json", "manifest.json"), ids[1:4], strict=True):
        file = runs / id / name
        file.write_bytes(file.read_bytes().replace(b"0", b"1", 1))  # the same size
    (runs / ids[4] / "state.json").unlink()
    found = list_runs(runs)
    assert found == plain(runs)
    assert [run.status for run in found].count("damaged") == 4
    assert ids[0] not in [run.id for run in found]
    assert list_runs(runs) == found


def test_a_run_with_the_files_of_another_is_noticed(runs: Path) -> None:
    """Swapped folders keep inode, size and time of each file, and the labels in the files say whose they are."""
    one, other = [run.path for run in list_runs(runs) if run.status == "done"][:2]
    os.rename(one, runs / ".aside")
    os.rename(other, one)
    os.rename(runs / ".aside", other)
    assert [run.status for run in list_runs(runs)].count("damaged") == 2


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1, 2]", b'{"version": 1, "parts": [], "runs": {}}', b"\xff\xfe", None]
)
def test_an_index_that_cannot_be_read_is_ignored_and_written_again(runs: Path, content: bytes | None) -> None:
    first = list_runs(runs)
    file = runs / INDEX
    good = file.read_bytes()
    file.write_bytes(
        good.replace(b'"grokked"', b'"stopped"').replace(b'"done"', b'"gone"') if content is None else content
    )
    assert list_runs(runs) == first
    assert json.loads(file.read_bytes()) == json.loads(good)


def test_a_folder_that_cannot_be_written_is_listed(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = plain(runs)

    def full(*_: object, **__: object) -> None:
        raise index.StoreError("disk full")

    monkeypatch.setattr(index, "write", full)
    assert list_runs(runs) == expected
