"""Names and tags: kept beside a run, and never part of it."""

from pathlib import Path

import pytest
from sample_run import CONFIG, open_run, save_next

from grokscope.errors import ConfigError
from grokscope.store import delete_runs, list_runs, read_run, read_tags, write_tags
from grokscope.store.verification import check_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with open_run(tmp_path, id="c0ffee", config=CONFIG) as folder:
        save_next(folder)
    return tmp_path / "c0ffee"


def test_a_run_without_them_has_none(run: Path) -> None:
    assert read_tags(run) == ("", ())
    assert (read_run(run).name, read_run(run).tags) == ("", ())


def test_they_are_written_changed_and_removed(run: Path) -> None:
    write_tags(run, name="baseline", add=["b", "a"])
    assert (list_runs(run.parent)[0].name, list_runs(run.parent)[0].tags) == ("baseline", ("a", "b"))
    assert write_tags(run, add=["c"], remove=["a"]) == ("baseline", ("b", "c"))
    assert write_tags(run, name="") == ("", ("b", "c"))


def test_they_can_be_given_while_the_run_trains_and_stay_when_it_continues(tmp_path: Path) -> None:
    with open_run(tmp_path, id="c0ffee", config=CONFIG) as folder:
        write_tags(folder.path, name="now")
        save_next(folder)
    with open_run(tmp_path, id="c0ffee", config=CONFIG) as folder:
        assert read_run(folder.path).name == "now"


def test_a_damaged_file_costs_the_name_and_is_found_by_check(run: Path) -> None:
    write_tags(run, name="baseline")
    path = run / "tags.json"
    path.write_bytes(path.read_bytes().replace(b"baseline", b"basement"))
    assert (read_run(run).name, read_run(run).status) == ("", "stopped")
    (problem,) = check_run(run).problems
    assert "tags.json" in problem
    write_tags(run, name="again")
    assert not check_run(run).problems


def test_a_run_with_a_name_can_be_deleted(run: Path) -> None:
    write_tags(run, name="baseline")
    assert delete_runs([run]) == 1
    assert not run.exists()


@pytest.mark.parametrize("word", ["a,b", "two\nlines", " padded", "x" * 61])
def test_words_that_no_table_can_show_are_refused(run: Path, word: str) -> None:
    with pytest.raises(ConfigError):
        write_tags(run, name=word)
    with pytest.raises(ConfigError):
        write_tags(run, add=[word])
    assert read_tags(run) == ("", ())


def test_a_run_is_shown_in_one_short_line(run: Path) -> None:
    write_tags(run, name="baseline")
    assert repr(read_run(run)) == "<Run c0ffee 'baseline' stopped at epoch 2, seed 0>"
