"""Damaged and foreign folders: an error that names the file, and not a byte changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_run import CONFIG, ID, check_exact, content, open_run, row, save_next, tensors

from grokscope.errors import StoreError
from grokscope.store import checkpoints, delete_runs, find_run, list_runs, load_runs, seal, tables
from grokscope.store.layout import PartFile, label
from grokscope.store.state import State

CHECKPOINT = "checkpoints/epoch-000000006.safetensors"
PART = "metrics/part-000000003-000000004.parquet"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    with open_run(tmp_path) as run:
        for _ in range(3):
            save_next(run)
    (tmp_path / ID / "lock").write_text("1\n")  # trained by a process that was not this one
    return tmp_path


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_last_bit(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))


def garbage(path: Path) -> None:
    path.write_bytes(b"\x00\xff not what it was")


def a_list(path: Path) -> None:
    path.write_text("[1, 2]")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def delete(path: Path) -> None:
    path.unlink()


def refused(runs: Path, *words: str) -> None:
    """Opening must fail with an error of one line that holds all `words`, and leave every byte as it was."""
    before = content(runs)
    with pytest.raises(StoreError) as caught:
        open_run(runs)
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == [], message
    assert content(runs) == before


@pytest.mark.parametrize("harm", [truncate, empty, garbage, a_list, a_folder, a_pipe, a_device, delete])
@pytest.mark.parametrize("name", ["config.json", "manifest.json", "state.json"])
def test_damaged_json(runs: Path, name: str, harm: Callable[[Path], None]) -> None:
    harm(runs / ID / name)
    refused(runs, name)


@pytest.mark.parametrize("harm", [truncate, empty, garbage, a_folder, a_pipe, a_device, flip_last_bit])
@pytest.mark.parametrize("name", [CHECKPOINT, PART])
def test_damaged_tables_and_checkpoints(runs: Path, name: str, harm: Callable[[Path], None]) -> None:
    harm(runs / ID / name)
    refused(runs, name)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("manifest.json", {}),
        ("manifest.json", {"schema": "one", "created": "now"}),
        ("state.json", {}),
        ("state.json", {**State().to_dict(), "status": "asleep"}),
        ("state.json", {**State().to_dict(), "epoch": "six"}),
        ("state.json", {**State().to_dict(), "mood": "good"}),
    ],
)
def test_json_that_means_nothing(runs: Path, name: str, plain: dict[str, object]) -> None:
    path = runs / ID / name
    path.write_bytes(seal.sealed_json(plain, label(path)))
    refused(runs, name, "damaged")


def test_a_run_under_another_name(runs: Path) -> None:
    shutil.copytree(runs / ID, runs / "77aa")
    with pytest.raises(StoreError, match=r"77aa/manifest\.json: damaged \(its checksum is wrong"):
        find_run(runs, "77aa")
    assert find_run(runs, ID).epoch == 6


@pytest.mark.parametrize("name", ["config.json", "manifest.json", "state.json", CHECKPOINT, PART])
def test_a_file_of_another_run_is_noticed(runs: Path, name: str) -> None:
    with open_run(runs, id="77aa") as run:
        for _ in range(3):
            save_next(run)
    shutil.copy(runs / "77aa" / name, runs / ID / name)
    refused(runs, name, "damaged", "it is not the file that belongs here")


def test_two_parts_of_a_run_swapped_are_noticed(runs: Path) -> None:
    metrics = runs / ID / "metrics"
    first, second = sorted(metrics.iterdir())[:2]
    first.rename(metrics / "aside")
    second.rename(first)
    (metrics / "aside").rename(second)
    refused(runs, first.name, "damaged")


def test_a_lost_part_is_noticed(runs: Path) -> None:
    delete(runs / ID / PART)
    refused(runs, "metrics", "4 rows up to epoch 6, its state counts 6", f"grokscope rm {ID}")


def test_a_lost_checkpoint_is_noticed_and_the_metrics_are_not_dropped(runs: Path) -> None:
    delete(runs / ID / CHECKPOINT)
    refused(runs, "checkpoints", "the checkpoint of epoch 6 is missing")


def test_a_lost_checkpoint_of_epoch_0_is_noticed(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.save(0, [row(0)], tensors(0), {}, {})
    delete(tmp_path / ID / "checkpoints" / "epoch-000000000.safetensors")
    refused(tmp_path, "the checkpoint of epoch 0 is missing")


def test_a_renamed_part_is_noticed(runs: Path) -> None:
    (runs / ID / PART).rename(runs / ID / PART.replace("004", "005"))
    refused(runs, "part-000000003-000000005.parquet", "damaged")


def test_a_renamed_checkpoint_is_noticed(runs: Path) -> None:
    (runs / ID / CHECKPOINT).rename(runs / ID / CHECKPOINT.replace("006", "007"))
    refused(runs, "epoch-000000007.safetensors", "damaged")


@pytest.mark.parametrize(
    ("first", "last", "why"), [(4, 6, "overlaps part-000000003-000000004"), (6, 8, "overlaps"), (7, 8, "")]
)
def test_parts_must_fit_together(runs: Path, first: int, last: int, why: str) -> None:
    rows = [{"epoch": epoch} for epoch in range(first, last + 1)]
    name = f"part-{first:09d}-{last:09d}.parquet"
    path = runs / ID / "metrics" / name
    path.write_bytes(tables.encode(rows, label(path)))
    if why:
        refused(runs, why)
    else:  # a part beyond the checkpoint is what a kill leaves behind
        with open_run(runs) as run:
            assert check_exact(run) == 6


def test_a_part_on_both_sides_of_the_checkpoint_is_not_cut(runs: Path) -> None:
    delete(runs / ID / "metrics" / "part-000000005-000000006.parquet")
    rows = [{"epoch": epoch} for epoch in range(5, 9)]
    path = runs / ID / "metrics" / "part-000000005-000000008.parquet"
    path.write_bytes(tables.encode(rows, label(path)))
    refused(runs, "part-000000005-000000008.parquet", "begins before the checkpoint of epoch 6")


def test_another_config_under_the_same_id(runs: Path) -> None:
    before = content(runs)
    for other, why in (
        ({**CONFIG, "task": {**CONFIG["task"], "p": 97}}, "task.p is 59 there and 97 here"),
        ({**CONFIG, "epochs": 3}, "epochs is only in the given one"),
        ({"task": CONFIG["task"], "prior": CONFIG["prior"]}, "seed is only in the stored one"),
    ):
        with pytest.raises(StoreError, match=rf"config.json: holds another configuration \({why}\)"):
            open_run(runs, config=other)
    assert content(runs) == before


def test_a_newer_schema(runs: Path) -> None:
    path = runs / ID / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 4}))
    refused(runs, "manifest.json", "newer grokscope (schema 4, this one reads up to 3)")


def test_an_older_schema(runs: Path) -> None:
    path = runs / ID / "manifest.json"
    path.write_text(json.dumps({"schema": 2, "created": "2026-01-01"}))
    refused(runs, "older grokscope (schema 2)", "--again", f"grokscope rm {ID}")
    assert delete_runs([runs / ID]) == 1


def test_a_schema_that_was_changed_is_damage(runs: Path) -> None:
    path = runs / ID / "manifest.json"
    path.write_text(path.read_text().replace('"schema": 3', '"schema": 2'))
    refused(runs, "manifest.json", "damaged")


def test_foreign_folders_and_files_are_never_touched(tmp_path: Path) -> None:
    (tmp_path / ID).mkdir()
    refused(tmp_path, ID, "not a run folder of grokscope (config.json is missing)")
    (tmp_path / ID / "thesis.tex").write_text("years of work")
    refused(tmp_path, ID, "not a run folder")
    shutil.rmtree(tmp_path / ID)
    (tmp_path / ID).write_text("a file")
    refused(tmp_path, ID, "not a folder")


def test_files_with_other_names_stay(runs: Path) -> None:
    notes = [runs / ID / name for name in ("notes.md", "metrics/part-old.parquet", "checkpoints/best.safetensors")]
    for path in notes:
        path.write_text("mine")
    with open_run(runs) as run:
        save_next(run)
        assert check_exact(run) == 8
    assert [path.read_text() for path in notes] == ["mine"] * 3


def test_one_damaged_run_does_not_hide_the_others(runs: Path) -> None:
    open_run(runs, id="77aa").close()
    (runs / "88bb").mkdir()
    shutil.copy(runs / ID / "config.json", runs / "88bb")
    (runs / "figures").mkdir()
    garbage(runs / ID / "state.json")
    listed = {run.id: (run.status, run.problem) for run in list_runs(runs)}
    assert listed.keys() == {"77aa", ID, "88bb"}
    assert listed["77aa"] == ("stopped", "")
    assert listed[ID][0] == listed["88bb"][0] == "damaged"
    assert "state.json: damaged" in listed[ID][1]
    assert "manifest.json is missing" in listed["88bb"][1]
    with pytest.raises(StoreError, match=r"state\.json: damaged"):
        find_run(runs, ID)


def test_load_runs_leaves_out_damaged_runs_and_says_so(runs: Path) -> None:
    with open_run(runs, id="77aa") as run:
        save_next(run)
    flip_last_bit(runs / ID / PART)
    with pytest.warns(UserWarning, match=rf"omitted: .*{Path(PART).name}: damaged"):
        table = load_runs(runs)
    assert list(table["run"]) == ["77aa"] * 2
    garbage(runs / ID / "state.json")
    with pytest.warns(UserWarning, match=r"omitted: .*state\.json: damaged"):
        assert len(load_runs(runs)) == 2


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_changed_byte_and_no_lost_tail_goes_unnoticed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "harmed"
    whole = data.draw(st.sampled_from([_a_part(label(path)), _a_checkpoint(label(path)), _some_json(label(path))]))
    place = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.integers(0, 255))  # 0 means: cut the file here
    harmed = whole[:place] + (bytes([whole[place] ^ change]) + whole[place + 1 :] if change else b"")
    path.write_bytes(harmed)
    with pytest.raises(StoreError, match="damaged"):
        tables.read_part(PartFile(1, 2, path))
    with pytest.raises(StoreError, match="damaged"):
        checkpoints.read_state_of(path)
    with pytest.raises(StoreError, match="damaged"):
        seal.read_sealed_json(path, label(path))


def test_letters_like_a_seal_in_the_metadata_do_no_harm(tmp_path: Path) -> None:
    for text in (seal.BLANK, "crc32=0123abcd"):
        path = tmp_path / "file"
        path.write_bytes(checkpoints.encode(tensors(1), State(epoch=1), {"note": text}, label(path)))
        assert checkpoints.read_checkpoint_file(path).metadata == {"note": text}
        path.write_bytes(seal.sealed_json({"note": text}, label(path)))
        assert seal.read_sealed_json(path, label(path)) == {"note": text}


def _a_part(label: str) -> bytes:
    return tables.encode([{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": None}], label)


def _a_checkpoint(label: str) -> bytes:
    return checkpoints.encode(tensors(3), State(epoch=3), {"step": 30}, label)


def _some_json(label: str) -> bytes:
    return seal.sealed_json(State(epoch=3).to_dict(), label)
