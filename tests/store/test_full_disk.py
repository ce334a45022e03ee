"""A full disk, or a folder that cannot be written: a clear error, no leftovers, a store that can be read."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from sample_run import ID, check_exact, content, open_run, row, save_next

from grokscope.errors import StoreError
from grokscope.store import check_writable, find_run, list_runs, load_runs


def fill_disk(patch: pytest.MonkeyPatch, nth: int, number: int = errno.ENOSPC) -> None:
    """Let the n-th fsync find the disk full."""
    fsync, calls = os.fsync, []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == nth:
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    patch.setattr(os, "fsync", full)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize(
    ("nth", "file", "epoch"), [(1, r"part-\S+\.parquet", 2), (3, r"epoch-\S+\.safetensors", 2), (5, r"state\.json", 4)]
)
def test_full_disk_while_saving(tmp_path: Path, nth: int, file: str, epoch: int, number: int) -> None:
    run = open_run(tmp_path)
    save_next(run)
    with pytest.MonkeyPatch.context() as patch:
        fill_disk(patch, nth, number)
        expected = rf"^disk full while writing \S+{file} \(.+\); the run can continue from epoch {epoch}$"
        with pytest.raises(StoreError, match=expected):
            save_next(run)
    with pytest.raises(StoreError, match="closed"):
        save_next(run)
    run.close()
    assert not list(tmp_path.rglob("*.tmp"))
    assert [info.status for info in list_runs(tmp_path)] == ["stopped"]
    assert list(load_runs(tmp_path)["epoch"])[:2] == [1, 2]
    with open_run(tmp_path) as again:
        assert check_exact(again) == epoch
        save_next(again)
        assert check_exact(again) == epoch + 2


def test_full_disk_while_a_run_is_made_leaves_nothing(tmp_path: Path) -> None:
    for nth in range(1, 7):
        with pytest.MonkeyPatch.context() as patch:
            fill_disk(patch, nth)
            with pytest.raises(StoreError, match="disk full while writing"):
                open_run(tmp_path)
        assert os.listdir(tmp_path) == []
    open_run(tmp_path).close()


def test_full_disk_while_finishing_keeps_the_last_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_run(tmp_path)
    save_next(run)
    fill_disk(monkeypatch, 1)
    with pytest.raises(StoreError, match=r"state\.json .*; the run can continue from epoch 2"):
        run.finish("done")
    assert find_run(tmp_path, ID).status == "stopped"


def test_other_failures_of_a_write_are_not_called_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_run(tmp_path)
    fill_disk(monkeypatch, 1, errno.EIO)
    with pytest.raises(StoreError, match=r"part-\S+: cannot be written \(Input/output error\)$"):
        save_next(run)


def test_a_real_limit_on_the_size_of_files(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        save_next(run)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
        try:
            with pytest.raises(StoreError, match=r"disk full while writing \S+epoch-000000004\.safetensors"):
                run.save(4, [row(3), row(4)], {"big": torch.zeros(50_000)}, {}, {})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with open_run(tmp_path) as again:
        assert check_exact(again) == 2


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"a small file system cannot be mounted here: {error}")
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_real_full_disk(tiny_disk: Path) -> None:
    run = open_run(tiny_disk)
    save_next(run)
    filler = tiny_disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        assert file.write(bytes(1_000_000)) < 300_000  # as much as there was room for
    with pytest.raises(StoreError, match=r"disk full while writing \S+ \(No space left .*continue from epoch 2"):
        save_next(run)
    run.fail("the disk is full")  # which cannot be stored either
    assert not list(tiny_disk.rglob("*.tmp"))
    info = find_run(tiny_disk, ID)
    assert (info.status, info.epoch, len(load_runs(tiny_disk))) == ("stopped", 2, 2)
    filler.unlink()
    with open_run(tiny_disk) as again:
        assert check_exact(again) == 2
        save_next(again)
        assert check_exact(again) == 4


def test_check_writable_accepts_folders_that_are_there_or_can_be_made(tmp_path: Path) -> None:
    check_writable(tmp_path)
    check_writable(tmp_path / "a" / "b")
    assert content(tmp_path) == {}


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    for folder in (tmp_path / "runs", tmp_path / "runs" / "deeper"):
        with pytest.raises(StoreError, match=r"cannot be written \(\S+/runs is not a folder\)"):
            check_writable(folder)
        with pytest.raises(StoreError, match="is not a folder"):
            open_run(folder)
    assert (tmp_path / "runs").read_text() == "a file"


def test_no_permission() -> None:
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        if root:
            os.seteuid(65534)  # root may write anywhere
        try:
            for path in (folder, folder / "deeper"):
                with pytest.raises(StoreError, match=rf"cannot be written \(no permission to write in {folder}\)"):
                    check_writable(path)
                with pytest.raises(StoreError, match="no permission"):
                    open_run(path)
        finally:
            if root:
                os.seteuid(0)
        assert os.listdir(folder) == []
