"""Files for the user: what may be replaced, what is refused, and how a temporary file is opened."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from grokscope.errors import StoreError
from grokscope.store import disk, lock, save_file


def left(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_new_file_has_the_permissions_of_the_umask_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    before = os.umask(0o027)
    try:
        save_file(page, "one")
        assert stat.S_IMODE(page.stat().st_mode) == 0o640
        page.chmod(0o604)
        save_file(page, "two")
    finally:
        os.umask(before)
    assert stat.S_IMODE(page.stat().st_mode) == 0o604
    assert page.read_text() == "two"
    assert left(page.parent) == ["page.html"]


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, chain, link = tmp_path / "there" / "page.html", tmp_path / "chain", tmp_path / "link"
    chain.symlink_to("there/page.html")
    link.symlink_to("chain")
    for text in ("new", "replaced"):  # a target that does not exist yet, and one that does
        save_file(link, text)
        assert link.is_symlink() and chain.is_symlink() and not target.is_symlink()
        assert target.read_text() == text
    assert left(tmp_path) == ["chain", "link", "there"]


def test_a_link_to_itself_and_a_link_into_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("no/such/folder/page.html")
    for name in ("loop", "nowhere"):
        with pytest.raises(StoreError, match=rf"{name}: cannot be written"):
            save_file(tmp_path / name, "x")
        assert (tmp_path / name).is_symlink()
    assert left(tmp_path) == ["loop", "nowhere"]


def test_what_is_not_a_regular_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(tmp_path)  # the path of a socket is short
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        for name, kind in (("pipe", "a pipe"), ("folder", "a folder"), ("null", "a device"), ("socket", "a socket")):
            path = tmp_path / name
            before = os.stat(path).st_mode
            with pytest.raises(StoreError, match=rf"{name}: cannot be written \({kind}, not a regular file\)$"):
                save_file(path, "x")
            assert os.stat(path).st_mode == before
        with pytest.raises(StoreError, match=r"^/dev/null: cannot be written \(a device"):
            save_file(Path("/dev/null"), "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert left(tmp_path) == ["folder", "null", "pipe", "socket"]


def test_a_temporary_name_is_never_shared_and_never_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, victim = tmp_path / "page", tmp_path / "victim"
    assert disk.temporary(page) != disk.temporary(page)
    assert disk.is_temporary(disk.temporary(page))
    victim.write_text("precious")
    trap = tmp_path / ".page.trap.tmp"
    trap.symlink_to(victim)
    monkeypatch.setattr(disk, "temporary", lambda path: trap)
    with pytest.raises(StoreError, match=r"page: cannot be written \(File exists\)"):
        save_file(page, "x")
    assert victim.read_text() == "precious"


def test_concurrent_writers_all_end_well(tmp_path: Path) -> None:
    page, errors = tmp_path / "page", []
    texts = [str(number) * 50_000 for number in range(8)]

    def keep_writing(text: str) -> None:
        try:
            for _ in range(20):
                save_file(page, text)
        except Exception as error:
            errors.append(error)

    writers = [threading.Thread(target=keep_writing, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert errors == []
    assert page.read_text() in texts
    assert left(tmp_path) == ["page"]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop", "under a file"])
def test_reading_never_waits(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "under a file":
        path.write_text("")
        path = path / "deeper"
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "file")
    with pytest.raises(disk.DamageError, match=f"{path.name}: (damaged|missing)"):
        disk.read(path)


def test_a_pipe_as_a_lock_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    assert not lock.is_held(tmp_path)


def test_a_file_that_cannot_be_read_now_does_not_count_as_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(StoreError, match=r"file: cannot be read \(Input/output error\)") as caught:
        disk.read(tmp_path / "file")
    assert not isinstance(caught.value, disk.DamageError)


PROGRAM = [sys.executable, "-m", "grokscope"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["list", "tasks"]])
def test_a_full_output_is_one_line_and_exit_code_1(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False
        )
    assert (ended.returncode, ended.stderr) == (1, "the output cannot be written (No space left on device)\n")


def test_the_file_that_the_output_goes_to_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = "from pathlib import Path; from grokscope.store import save_file; print('before', flush=True); "
    code += "save_file(Path('/dev/stdout'), 'page')"
    with open(out, "w") as file:
        ended = subprocess.run(
            [sys.executable, "-c", code], stdout=file, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False
        )
    assert "/dev/stdout: cannot be written (the standard output" in ended.stderr
    assert out.read_text() == "before\n"
