"""Reading and writing whole files: every write is a temporary file, fsync and rename; every failure is a StoreError
that names the file.

A reader therefore never sees a partial file, and after a crash a file is either the old one or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from ..errors import StoreError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class DamageError(StoreError):
    """A file that is missing or not as it was written, unlike one that cannot be read just now (no permission, an error of the
    disk)."""


def write(path: Path, content: bytes, *, if_full: str = "", drafts: Path | None = None) -> None:
    """Put `content` at `path` in one atomic step. `if_full` is added to the error when the disk is full.

    drafts   folder for the temporary file, by default that of `path`; the write fails if it does not exist

    A symbolic link is followed and its target replaced; an existing file keeps its permission bits. What is not a regular file
    is refused. Of several writers at the same time, the last one wins.
    """
    target, mode = _replaceable(path)
    draft = temporary(target) if drafts is None else drafts / temporary(target).name
    try:
        # O_EXCL: never through a file or link that somebody else has put there.
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with open(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(draft, target)
        sync_folder(target.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        if error.errno == errno.EXDEV and drafts is not None and drafts.exists():  # a link leads to another disk
            return write(path, content, if_full=if_full)
        raise cannot_write(path, error, if_full) from error


def save_file(path: Path, content: str | bytes) -> Path:
    """Write a file for the user (a page, a figure) at a path of their choice, creating its folder."""
    make_folder(path.parent)
    if _is_output(path):
        raise StoreError(f"{path}: cannot be written (the standard output, not a file of its own)")
    write(path, content.encode() if isinstance(content, str) else content)
    return path


def _replaceable(path: Path) -> tuple[Path, int | None]:
    """The file that a write to `path` replaces, and its permission bits if it exists."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        # A new file, or a link whose target does not exist yet.
        return (Path(os.path.realpath(path)) if path.is_symlink() else path), None
    except OSError as error:
        raise cannot_write(path, error) from error
    if not stat.S_ISREG(mode):
        raise StoreError(f"{path}: cannot be written ({_kind(mode)}, not a regular file)")
    return (Path(os.path.realpath(path)) if path.is_symlink() else path), mode & 0o777


def _is_output(path: Path) -> bool:
    """Whether a path, such as /dev/stdout, is a file to which the standard output or the error output goes."""
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return any(os.path.samestat(found, os.fstat(descriptor)) for descriptor in (1, 2))
    return False


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def temporary(path: Path) -> Path:
    """A new temporary path, beside a file, that nobody can predict."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


def is_temporary(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(".tmp")


def make_folder(path: Path) -> None:
    """Create a folder and its parents; an existing folder is not an error."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def sync_folder(folder: Path) -> None:
    """Make a rename inside `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(path: Path, new: Path) -> None:
    """Rename one of our files within its folder."""
    try:
        os.replace(path, new)
        sync_folder(new.parent)
    except OSError as error:
        raise cannot_write(new, error) from error


def remove(path: Path) -> None:
    """Delete one of our files; a missing file is not an error."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"{path}: cannot be deleted ({reason(error)})") from error


def listing(folder: Path) -> list[Path]:
    """The entries of a folder; none if it does not exist, since tools that copy folders may omit empty ones."""
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read ({reason(error)})") from error


def read(path: str | Path) -> bytes:
    """The bytes of a regular file. Never waits for a pipe or a device in its place: that counts as damage."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise damaged(path, f"{_kind(status.st_mode)}, not a regular file")
            content = os.read(descriptor, status.st_size + 1)
            if len(content) != status.st_size:  # it grows, or the system reads less at a time
                while more := os.read(descriptor, 1 << 24):
                    content += more
            return content
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DamageError(f"{path}: missing") from error
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.ENXIO, errno.ELOOP):
            raise damaged(path, "not a regular file") from error
        raise StoreError(f"{path}: cannot be read ({reason(error)})") from error


def damaged(path: str | Path, why: object) -> DamageError:
    return DamageError(f"{path}: damaged ({' '.join(str(why).split())})")


def cannot_write(path: Path, error: OSError, if_full: str = "") -> StoreError:
    if error.errno in FULL:
        return StoreError(f"disk full while writing {path} ({reason(error)}){if_full}")
    return StoreError(f"{path}: cannot be written ({reason(error)})")


def reason(error: OSError) -> str:
    return error.strerror or str(error)


def check_writable(folder: str | Path) -> None:
    """Raise StoreError if `folder` is not writable. Writes nothing; `folder` need not exist yet."""
    folder = Path(folder)
    try:
        existing = next(p for p in (folder, *folder.absolute().parents) if p.exists() or p.is_symlink())
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({reason(error)})") from error
    if not existing.is_dir():
        raise StoreError(f"{folder}: cannot be written ({existing} is not a folder)")
    if not os.access(existing, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise StoreError(f"{folder}: cannot be written (no permission to write in {existing})")
