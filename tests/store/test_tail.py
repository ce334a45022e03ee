"""Rows are seen before they are saved: in the tail of a run, which a reader follows and which nothing depends on."""

import math
import os

import numpy as np
import pytest
from sample_run import CONFIG, ID, check_exact, open_run, row, save_next, tensors

from grokscope.errors import LostLeaseError
from grokscope.store import Follower, delete_runs
from grokscope.store.lease import FREE, Lease
from grokscope.store.tail import Tail, TailPosition, find_tail, read_tail


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def followed(runs):
    return Follower(runs / ID)


def epochs(follower):
    return follower.columns["epoch"].tolist()


def save(folder, epoch, rows):
    folder.save(epoch, rows, tensors(epoch), {"step": 10 * epoch}, {"t_mem": epoch / 2}, seconds=epoch / 4)


def test_appended_rows_are_followed_one_by_one_and_saved_once(runs):
    with open_run(runs) as folder:
        follower = followed(runs)
        assert follower.poll() and epochs(follower) == []
        assert follower.info.status == "running"
        for epoch in (1, 2):
            folder.append([row(epoch)])
            assert follower.poll()
            assert epochs(follower) == list(range(1, epoch + 1))
            assert not follower.poll()
        assert follower.columns["loss"].tolist() == [1 / 2, 1 / 3]
        save(folder, 2, [row(1), row(2)])
        assert not find_tail(folder.path).exists()
        assert follower.poll() and epochs(follower) == [1, 2]
        folder.append([row(3)])
        assert follower.poll() and epochs(follower) == [1, 2, 3]
        assert check_exact(folder) == 2  # what is appended only is not part of the run


def test_a_reader_that_comes_late_finds_everything(runs):
    with open_run(runs) as folder:
        save_next(folder)
        folder.append([row(3)])
        folder.append([row(4), row(5)])
        follower = followed(runs)
        follower.poll()
        assert epochs(follower) == [1, 2, 3, 4, 5]
        assert follower.columns["steps"].tolist() == [3.0, 6.0, 9.0, 12.0, 15.0]


def test_a_save_between_two_polls_hides_no_row(runs):
    with open_run(runs) as folder:
        follower = followed(runs)
        follower.poll()
        folder.append([row(1)])
        save(folder, 2, [row(1), row(2)])
        folder.append([row(3)])
        follower.poll()
        assert epochs(follower) == [1, 2, 3]


def test_rows_that_are_saved_while_newer_ones_are_appended(runs):
    with open_run(runs) as folder:
        follower = followed(runs)
        folder.append([row(1), row(2), row(3)])
        save(folder, 2, [row(1), row(2)])
        folder.append([row(2), row(4)])  # 2 was saved meanwhile
        follower.poll()
        assert epochs(follower) == [1, 2, 3, 4]


def test_a_killed_run_shows_its_last_rows_and_continues_from_its_checkpoint(runs):
    with open_run(runs) as folder:
        save_next(folder)
        folder.append([row(3), row(4)])
    follower = followed(runs)
    follower.poll()
    assert (follower.info.status, epochs(follower)) == ("stopped", [1, 2, 3, 4])
    with open_run(runs) as again:
        assert check_exact(again) == 2
        assert follower.poll()
        assert (follower.info.status, epochs(follower)) == ("running", [1, 2])
        again.append([row(3)])
        assert follower.poll() and epochs(follower) == [1, 2, 3]


def test_a_deleted_run_and_one_trained_again_in_its_place(runs):
    with open_run(runs) as folder:
        save_next(folder)
    follower = followed(runs)
    follower.poll()
    delete_runs([runs / ID])
    assert follower.poll() and follower.info is None
    assert not follower.poll()
    with open_run(runs) as folder:
        folder.save(2, [{"epoch": 2, "loss": 7.0}], tensors(2), {}, {})
        assert follower.poll()
        assert (epochs(follower), follower.columns["loss"].tolist()) == ([2], [7.0])
        assert "steps" not in follower.columns


def test_a_damaged_run_says_what_is_wrong_and_recovers(runs):
    with open_run(runs) as folder:
        save_next(folder)
    follower = followed(runs)
    content = (runs / ID / "state.json").read_bytes()
    (runs / ID / "state.json").write_bytes(b"{")
    assert follower.poll()
    assert follower.info.status == "damaged" and "state.json" in follower.info.problem
    (runs / ID / "state.json").write_bytes(content)
    assert follower.poll() and follower.info.status == "stopped"


def test_lost_rows_are_noticed(runs):
    with open_run(runs) as folder:
        save_next(folder)
        save_next(folder)
    next((runs / ID / "metrics").glob("part-*1-*")).unlink()
    follower = followed(runs)
    follower.poll()
    assert follower.info.status == "damaged" and "rows up to epoch" in follower.info.problem


def test_columns_come_and_go_and_only_those_wanted_are_kept(runs):
    with open_run(runs) as folder:
        folder.append([{"epoch": 0, "loss": 1.0}])
        folder.append([{"epoch": 1, "loss": None, "D": math.inf}, {"epoch": 2, "loss": 0.5, "D": 2.0, "other": 1}])
        follower = Follower(runs / ID, lambda name: name in ("loss", "D"))
        follower.poll()
    assert follower.columns.keys() == {"epoch", "loss", "D"}
    np.testing.assert_array_equal(follower.columns["loss"], [1.0, math.nan, 0.5])
    np.testing.assert_array_equal(follower.columns["D"], [math.nan, math.inf, 2.0])


def test_an_unfinished_block_waits_for_its_end(tmp_path):
    tail = Tail(Lease.take(tmp_path, "a", locked=True))
    tail.append([row(1)])
    file = find_tail(tmp_path)
    position, _ = read_tail(file, TailPosition())
    tail.append([row(2)])
    whole = file.read_bytes()
    for length in range(position.offset, len(whole)):
        file.write_bytes(whole[:length])
        assert read_tail(file, position) == (position, [])
    file.write_bytes(whole)
    _, (block,) = read_tail(file, position)
    assert block.values[:, block.columns.index("epoch")].tolist() == [2.0]


def test_a_flipped_bit_or_the_tail_of_another_run_is_not_shown(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name / FREE).mkdir(parents=True)
    tail = Tail(Lease.take(tmp_path / "a", "a", locked=True))
    tail.append([row(1)])
    tail.append([row(2)])
    file, other = find_tail(tmp_path / "a"), find_tail(tmp_path / "b")
    whole = file.read_bytes()
    other.write_bytes(whole)
    assert read_tail(other, TailPosition())[1] == []
    for place in range(16, len(whole)):
        flipped = bytes([*whole[:place], whole[place] ^ 4, *whole[place + 1 :]])
        file.write_bytes(flipped)
        blocks = read_tail(file, TailPosition())[1]
        assert [block.values.tolist() for block in blocks] == [[[1, 1 / 2, 3]]][: place >= 16 + (len(whole) - 16) // 2]


@pytest.mark.parametrize("content", [b"", b"gs-tail1", b"other" * 10, b"gs-tail1" + bytes(8) + b"\xff" * 40])
def test_a_foreign_or_broken_tail_has_no_rows(runs, content):
    with open_run(runs) as folder:
        save_next(folder)
        find_tail(folder.path).write_bytes(content)
        follower = followed(runs)
        follower.poll()
        assert epochs(follower) == [1, 2]
        save_next(folder)
        follower.poll()
        assert epochs(follower) == [1, 2, 3, 4]


def test_a_full_disk_ends_the_tail_and_not_the_run(runs, monkeypatch):
    write = os.write
    with open_run(runs) as folder:
        folder.append([row(1)])
        monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:20]))
        with pytest.raises(OSError, match="in part"):
            folder.append([row(2)])
        monkeypatch.undo()
        folder.append([row(3)])  # would follow half a block
        follower = followed(runs)
        follower.poll()
        assert epochs(follower) == [1]
        save(folder, 3, [row(1), row(2), row(3)])
        folder.append([row(4)])
        follower.poll()
        assert epochs(follower) == [1, 2, 3, 4]


def test_nothing_is_appended_to_a_folder_that_was_replaced(runs):
    with open_run(runs) as folder:
        folder.path.rename(runs / "moved")
        with open_run(runs, ID, CONFIG):
            folder.append([row(1)])
            assert not find_tail(runs / ID).exists()
    folder.append([row(1)])
    assert not find_tail(runs / "moved").exists()


@pytest.mark.parametrize("moment", ["before", "opened", "written"])
def test_rows_of_a_process_that_lost_its_lease_are_not_shown(runs, monkeypatch, moment):
    """Another process takes the run over before the file is opened, between opening and writing, or right after."""
    with open_run(runs) as folder:
        save_next(folder)
        folder.append([row(3)])
        taken = []

        def steal():
            if not taken:
                taken.append(Lease.take(folder.path, folder.id, locked=True))

        write = os.write

        def slow(descriptor, content):
            monkeypatch.setattr(os, "write", write)  # the other process writes too
            if moment == "opened":
                steal()
            done = write(descriptor, content)
            steal()
            return done

        if moment == "before":
            steal()
        monkeypatch.setattr(os, "write", slow)
        folder.append([row(4)])  # which is no error: the next save is
        monkeypatch.undo()
        assert taken
        follower = followed(runs)
        follower.poll()
        assert epochs(follower) == [1, 2]
        Tail(taken[0]).append([{"epoch": 3, "loss": 7.0}])
        folder.append([row(5)])
        follower.poll()
        assert (epochs(follower), follower.columns["loss"].tolist()[-1]) == ([1, 2, 3], 7.0)
        with pytest.raises(LostLeaseError):
            save(folder, 4, [row(3), row(4)])
        taken[0].release()
        assert epochs(follower) == [1, 2, 3], "a run that stops keeps its last rows"


def test_a_second_free_lease_with_rows_in_it_does_not_stay(runs):
    with open_run(runs) as folder:
        folder.append([row(1)])
        (folder.path / FREE).mkdir()
        (folder.path / FREE / "tail").write_bytes(b"of another holder")
    assert [path.name for path in folder.path.glob("lease-*")] == [FREE]
    follower = followed(runs)
    follower.poll()
    assert epochs(follower) == [1]
