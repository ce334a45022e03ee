"""A run folder in good times: made, saved, closed, opened again."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path

import pytest
import torch
from sample_run import CONFIG, ID, check_exact, open_run, row, same, save_next, tensors

from grokscope.errors import StoreError
from grokscope.store import RunFolder, State, find_run, read_checkpoint


def files(folder: Path) -> list[str]:
    """All files of a run but its lease, whose name changes."""
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return [name for name in found if not name.startswith("lease-")]


def test_a_new_run_has_its_config_and_manifest_and_nothing_to_go_on_from(tmp_path: Path) -> None:
    with open_run(tmp_path / "deep" / "runs") as run:
        assert files(run.path) == ["config.json", "lock", "manifest.json", "state.json"]
        assert run.latest_checkpoint() is None
        assert run.metrics().to_pylist() == []
        assert run.state == State(status="running", epoch=0)
        config = json.loads((run.path / "config.json").read_text())
        assert re.fullmatch("crc32=[0-9a-f]{8}", config.pop("checksum"))
        assert config == CONFIG
        manifest = json.loads((run.path / "manifest.json").read_text())
    assert (manifest["schema"], manifest["device"]) == (3, "cpu")
    assert manifest["packages"]["torch"] == torch.__version__
    assert manifest["git"] is None or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", manifest["git"])
    assert os.listdir(tmp_path / "deep" / "runs") == [ID]


def test_a_new_run_is_known_as_it_will_be_read(tmp_path: Path) -> None:
    draft = tmp_path / f".new-{ID}"  # of an attempt that was killed in the midst of a write
    draft.mkdir()
    (draft / ".config.json.0123456789ab.tmp").write_text("{")
    with RunFolder.create_or_open(tmp_path, ID, CONFIG, device="cpu", record={"places": (1, 2)}) as new:
        assert files(new.path) == ["config.json", "lock", "manifest.json", "state.json"]
        known = new.manifest, new.state
    with open_run(tmp_path) as opened:
        assert (opened.manifest, opened.state) == known


def test_going_on_equals_never_having_stopped(tmp_path: Path) -> None:
    with open_run(tmp_path / "a") as undisturbed:
        for _ in range(4):
            save_next(undisturbed)
        assert check_exact(undisturbed) == 8
    for expected in (2, 4, 6, 8):
        with open_run(tmp_path / "b") as resumed:
            save_next(resumed)
            assert check_exact(resumed) == expected
    assert files(tmp_path / "a" / ID) == files(tmp_path / "b" / ID)
    names = [f"metrics/part-{e - 1:09d}-{e:09d}.parquet" for e in (2, 4, 6, 8)]
    assert files(tmp_path / "a" / ID) == sorted(
        ["checkpoints/epoch-000000008.safetensors", "config.json", "lock", "manifest.json", "state.json", *names]
    )


def test_config_is_compared_as_json(tmp_path: Path) -> None:
    open_run(tmp_path, config={"a": (1, 2), "b": 0.1}).close()
    with open_run(tmp_path, config={"b": 0.1, "a": [1, 2]}) as run:
        assert run.id == ID


def test_kept_checkpoints_stay_and_can_be_read(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        for keep in (True, False, True, False, False):
            save_next(run, keep=keep)
        names = sorted(os.listdir(run.path / "checkpoints"))
    assert names == [f"{name}.safetensors" for name in ("epoch-000000010", "kept-000000002", "kept-000000006")]
    info = find_run(tmp_path, ID)
    assert same(read_checkpoint(info, 6).tensors, tensors(6))
    assert read_checkpoint(info).epoch == 10
    with pytest.raises(StoreError, match="no checkpoint of epoch 4, only of 2, 6, 10"):
        read_checkpoint(info, 4)


def test_a_kept_checkpoint_that_is_the_newest_is_gone_on_from_and_stays_kept(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        save_next(run)
        save_next(run, keep=True)
        run.save(4, [], tensors(4), {"step": 40}, {"t_mem": 2.0}, seconds=1.0)
    with open_run(tmp_path) as run:
        assert check_exact(run) == 4
        assert os.listdir(run.path / "checkpoints") == ["kept-000000004.safetensors"]


def test_finish_sets_status_and_summary_without_a_checkpoint(tmp_path: Path) -> None:
    run = open_run(tmp_path)
    save_next(run)
    run.finish("grokked", {"t_grok": 2, "test_accuracy": 0.995, "loss": math.nan})
    info = find_run(tmp_path, ID)
    assert (info.status, info.epoch, info.seconds) == ("grokked", 2, 0.5)
    assert info.summary == {"t_grok": 2, "test_accuracy": 0.995, "loss": None}
    with open_run(tmp_path) as again:
        assert again.state.finished
        checkpoint = again.latest_checkpoint()
        assert checkpoint is not None
        assert same(checkpoint.tensors, tensors(2))


def test_a_finished_run_keeps_its_status_when_opened(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        save_next(run, status="diverged")
    with open_run(tmp_path) as run:
        assert run.state.status == "diverged"
        assert find_run(tmp_path, ID).status == "diverged"


def test_a_closed_folder_cannot_be_saved_to(tmp_path: Path) -> None:
    run = open_run(tmp_path)
    run.close()
    with pytest.raises(StoreError, match="closed"):
        save_next(run)
    with pytest.raises(StoreError, match="closed"):
        run.finish("done")
    assert find_run(tmp_path, ID).epoch == 0


@pytest.mark.parametrize(
    ("epoch", "rows"),
    [
        (1, []),  # before what is saved
        (4, [row(2), row(3)]),  # a row that is saved already
        (4, [row(4), row(3)]),  # not rising
        (4, [row(5)]),  # beyond the checkpoint
        (4, [{"loss": 1.0}]),  # no epoch
        (4, [{"epoch": 3.0}]),  # not a whole number
    ],
)
def test_rows_that_would_not_fit_are_refused_before_anything_is_written(
    tmp_path: Path, epoch: int, rows: list[dict[str, float | int | None]]
) -> None:
    with open_run(tmp_path) as run:
        save_next(run)
        before = files(run.path)
        with pytest.raises(ValueError, match="epoch"):
            run.save(epoch, rows, tensors(epoch), {}, {})
        assert files(run.path) == before
        save_next(run)
        assert check_exact(run) == 4


def test_unknown_status_and_odd_metrics_are_refused_and_the_folder_stays_open(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        with pytest.raises(ValueError, match="status 'finished' is none of"):
            save_next(run, status="finished")
        with pytest.raises(TypeError, match="metric loss: 'low' is not a number"):
            run.save(1, [{"epoch": 1, "loss": "low"}], {}, {}, {})  # type: ignore[dict-item]
        save_next(run)
        assert check_exact(run) == 2


def test_evaluation_before_the_first_step_is_epoch_0(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.save(0, [row(0)], tensors(0), {}, {})
        run.save(5, [], tensors(5), {}, {})
        run.save(9, [row(7)], tensors(9), {}, {})
    with RunFolder.create_or_open(tmp_path, ID, CONFIG, device="cpu") as run:
        assert run.metrics().to_pylist() == [row(0), row(7)]
        assert run.state.epoch == 9


def test_folders_that_a_copy_left_out_are_made_again(tmp_path: Path) -> None:
    open_run(tmp_path).close()
    (tmp_path / ID / "metrics").rmdir()
    (tmp_path / ID / "checkpoints").rmdir()
    with open_run(tmp_path) as run:
        save_next(run)
        assert check_exact(run) == 2
