"""One process per run: an advisory lock (flock) on the run's lock file, and a lease (`lease`) beside it.

The kernel releases the lock when its holder exits, for whatever reason, so a killed run is free immediately and there are no
stale locks. The file contains the holder's process id, for the error message alone. File systems of clusters may grant the lock on
each machine separately, or not have it: there the lease decides.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path

from ..errors import BusyError, StoreError
from .disk import cannot_write
from .layout import LOCK
from .lease import Lease, find, is_free, is_living, is_stale

NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
"""Errors of a file system without flock."""
_ours: set[tuple[int, int]] = set()
"""Device and inode of every lock file that this process holds."""


class Lock:
    """A held lock, valid until `release` or the end of the process."""

    def __init__(self, descriptor: int, lease: Lease):
        self.lease = lease
        self._descriptor: int | None = descriptor
        self._file = _identity(descriptor)
        _ours.add(self._file)

    @classmethod
    def take(cls, folder: Path, run: str) -> Lock:
        """Lock `folder`, or raise BusyError when another process holds it. An existing lock file keeps its content."""
        path = folder / LOCK
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            raise  # the folder was moved away: handled by the creator of folders
        except OSError as error:
            raise cannot_write(path, error) from error
        try:
            _lock_soon(descriptor)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            ours = _identity(descriptor) in _ours
            os.close(descriptor)
            if ours:
                raise StoreError(f"run {run} is already open in this process") from None
            known = f" (pid {holder})" if holder and holder != str(os.getpid()) else ""
            raise BusyError(f"run {run} is being trained by another process{known}") from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                os.close(descriptor)
                raise StoreError(f"{path}: cannot be locked ({error.strerror})") from error
            locked = False
        else:
            locked = True
        if _identity(descriptor) in _ours:  # the lock was granted again
            os.close(descriptor)
            raise StoreError(f"run {run} is already open in this process")
        try:
            return cls(descriptor, Lease.take(folder, run, locked=locked))
        except BaseException:
            os.close(descriptor)
            raise

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def sign(self) -> None:
        """Write our process id into the lock file (best effort: a full disk is not an error here)."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def is_in(self, folder: Path) -> bool:
        """Whether the locked file is still the lock file of `folder`, which may have been moved or replaced."""
        if self._descriptor is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(folder / LOCK))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        if self._descriptor is not None:
            _ours.discard(self._file)
            try:
                self.lease.release()
            finally:
                os.close(self._descriptor)
                self._descriptor = None


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def is_held(folder: Path, *, shown: bool = False) -> bool:
    """Whether some process is training the run in `folder`.

    shown   for display: a run whose last heartbeat was hours ago does not count, although nothing is known of its machine
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    locked = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        locked = True
    except BlockingIOError:
        return True
    except OSError:
        pass  # a file system without locks: the lease decides
    finally:
        os.close(descriptor)
    found = find(folder)
    if found is None or is_free(found) or (shown and is_stale(found)):
        return False
    return is_living(found, locked=locked)


def _lock_soon(descriptor: int) -> None:
    """Take the lock, with a few attempts: `is_held` of a reader holds it for an instant."""
    for pause in (0.01, 0.02, 0.05, 0.1):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(pause)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
