"""Reading and writing whole files: every write is a temporary file, fsync and rename; every failure is a StoreError
that names the file.

A reader therefore never sees a partial file, and after a crash a file is either the old one or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from pathlib import Path
from typing import Any

from ..errors import StoreError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write(path: Path, content: bytes, *, if_full: str = "") -> None:
    """Put `content` at `path` in one atomic step. `if_full` is added to the error when the disk is full."""
    draft = temporary(path)
    try:
        with open(draft, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise cannot_write(path, error, if_full) from error


def save_file(path: Path, content: str | bytes) -> Path:
    """Write a file for the user (a page, a figure) at a path of their choice, creating its folder."""
    make_folder(path.parent)
    write(path, content.encode() if isinstance(content, str) else content)
    return path


def write_json(path: Path, content: dict[str, Any], *, if_full: str = "") -> None:
    """Indented JSON without NaN or infinity, which other programs cannot read."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write(path, text.encode(), if_full=if_full)


def temporary(path: Path) -> Path:
    """Temporary path of a file before it is moved into place. One name per file is enough: a run has one writer."""
    return path.with_name(f".{path.name}.tmp")


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


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise StoreError(f"{path}: missing") from error
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({reason(error)})") from error


def read_json(path: Path) -> dict[str, Any]:
    content = read(path)
    try:
        plain = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damaged(path, error) from error
    if not isinstance(plain, dict):
        raise damaged(path, "not a JSON object")
    return plain


def damaged(path: Path, why: object) -> StoreError:
    return StoreError(f"{path}: damaged ({' '.join(str(why).split())})")


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
