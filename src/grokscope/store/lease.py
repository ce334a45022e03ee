"""Leases: which process may write a run, also where flock cannot tell (NFS, Lustre, several machines).

A run folder holds one folder `lease-<machine>-<token>`, whose token is drawn anew by each holder; `lease-free` has none. A process
takes the lease by renaming that folder, which succeeds for one process only, and no token is ever used twice.

Fencing. The holder writes each file inside its lease folder and then renames it to its place, and deletes a file by renaming it
into its lease folder. A process that was paused while another one took the lease over finds no folder under its own name: these
renames fail, however long the pause was and whenever it began, and nothing is changed. Rows that are shown before they are saved
(`tail`) are in the lease folder itself, and vanish from it when another process takes the lease.

Expiry. The holder's file counts heartbeats. A lease has expired when the reader has seen the same count for the length of the
lease by its own monotonic clock; the clocks of two machines are never compared. A holder on the reader's own machine is asked for
directly, so a process that was killed leaves a run that is free at once.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import secrets
import socket
import time
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BusyError, LostLeaseError, StoreError
from . import heartbeat
from .aside import HELD, finish_move, move_aside
from .disk import cannot_write, remove, write
from .layout import DRAFT, LEASE

FREE = f"{LEASE}free"
HOLDER = "holder"
DIGITS = 12
"""Width of the heartbeat count at the beginning of the holder's file."""
STALE = 2 * 3600.0
"""Seconds without a heartbeat after which a run is shown as stopped; more than clocks differ by."""
JOB = "GROKSCOPE_JOB"
"""Environment variable that names the cluster job a process belongs to."""

_seen: dict[Path, _Seen] = {}
"""What was seen of leases whose holders are on other machines."""


class Holder(NamedTuple):
    """The process that holds a lease."""

    host: str
    pid: int
    started: str
    """Start time of the process, so that a later one with the same id is told apart."""
    length: float
    """Seconds without a heartbeat after which the lease has expired."""
    job: str
    """The cluster job it belongs to; empty outside of one."""

    def __str__(self) -> str:
        return f"{self.host}, pid {self.pid}"


class _Seen(NamedTuple):
    beat: str
    since: float
    """When this beat was seen first."""
    last: float
    """When the lease was last read."""


class Lease:
    """A held lease."""

    def __init__(self, path: Path):
        self.path = path
        heartbeat.add(self)

    @classmethod
    def take(cls, folder: Path, run: str, *, locked: bool) -> Lease:
        """Take the lease of the run in `folder`, or raise BusyError if another process holds it.

        run      id of the run, for messages
        locked   whether this process holds the flock: a holder on this machine has then ended
        """
        found = find(folder)
        if found is None:
            try:
                os.mkdir(folder / FREE)
            except FileExistsError:
                pass
            except FileNotFoundError:
                raise  # the folder was moved away
            except OSError as error:
                raise cannot_write(folder / FREE, error) from error
            found = find(folder)  # again: another process may have taken it in between
            if found is None:
                raise FileNotFoundError(folder)
        _check_free(found, run, locked)
        path = folder / f"{_prefix()}{secrets.token_hex(8)}"
        try:
            os.rename(found, path)
        except FileNotFoundError:
            raise BusyError(f"run {run} is being trained by another process") from None
        except OSError as error:
            raise cannot_write(path, error) from error
        with contextlib.suppress(
            OSError
        ):  # a full disk is not an error here: the holder is for other machines and for messages
            _clear(path)
            _write_holder(path)
        lease = cls(path)
        # A folder is not listed in one step: the name of a lease that changed in between may have been missed.
        for other in _all(folder):
            if other.name not in (path.name, FREE):
                try:
                    _check_free(other, run, locked)
                except BusyError:
                    lease.release()
                    raise
                with contextlib.suppress(OSError):
                    _clear(other)
                    os.rmdir(other)
        return lease

    def move(self, run: Path) -> None:
        """The folder that holds the lease was renamed to `run`."""
        self.path = run / self.path.name

    @property
    def lost(self) -> bool:
        """Whether another process has taken the lease over, or the run folder is gone."""
        return not self.path.exists()

    def check(self) -> None:
        """Raise LostLeaseError if the lease is lost."""
        if self.lost:
            found = find(self.path.parent)
            holder = read_holder(found) if found else None
            run = self.path.parent.name.removeprefix(DRAFT)
            what = f"run {run} was taken over{f' by another process ({holder})' if holder else ''}"
            raise LostLeaseError(f"{what} while this process was paused; it has stopped here and changed nothing")

    def write(self, path: Path, content: bytes, *, if_full: str = "") -> None:
        """As `disk.write`, but fails with LostLeaseError, and changes nothing, if the lease is lost."""
        try:
            write(path, content, if_full=if_full, drafts=self.path)
        except StoreError:
            self.check()
            raise

    def remove(self, path: Path) -> None:
        """Delete a file of the run; a missing file is not an error. LostLeaseError, and nothing changed, if the lease is lost."""
        aside = self.path / f".{secrets.token_hex(6)}.tmp"
        try:
            os.rename(path, aside)
        except FileNotFoundError:
            self.check()
            return
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.ENOTDIR):  # such as checkpoints that lie on another disk
                raise StoreError(f"{path}: cannot be deleted ({error.strerror})") from error
            self.check()
            aside = path
        remove(aside)

    def move_aside(self, path: Path) -> None:
        """Move a damaged file into a hidden folder of the run; LostLeaseError, and nothing changed, if the lease is lost."""
        try:
            move_aside(self.path, path)
        except StoreError:
            self.check()
            raise

    def beat(self, count: int) -> None:
        """Show that the holder is alive. By path, so that a lost lease is not touched."""
        with contextlib.suppress(OSError):
            descriptor = os.open(self.path / HOLDER, os.O_WRONLY)
            try:
                os.pwrite(descriptor, f"{count:0{DIGITS}d}".encode(), 0)
            finally:
                os.close(descriptor)

    def release(self) -> None:
        heartbeat.discard(self)
        with contextlib.suppress(OSError):
            os.unlink(self.path / HOLDER)
        free = self.path.with_name(FREE)
        with contextlib.suppress(OSError):
            try:
                os.rename(self.path, free)
            except OSError:  # a second one, which a process left that was refused
                _clear(free)
                os.rename(self.path, free)


def find(folder: Path) -> Path | None:
    """The lease folder of a run; None in a run without one."""
    return max(_all(folder), key=lambda path: path.name != FREE, default=None)


def is_free(lease: Path) -> bool:
    return lease.name == FREE


def _all(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder) if name.startswith(LEASE)]
    except OSError:
        return []


def _check_free(lease: Path, run: str, locked: bool) -> None:
    if not is_free(lease) and is_living(lease, locked=locked):
        holder = read_holder(lease)
        raise BusyError(f"run {run} is being trained by another process{f' ({holder})' if holder else ''}")


def is_living(lease: Path, *, locked: bool) -> bool:
    """Whether the holder of a lease is alive, as far as this process can tell: on another machine, it is until its heartbeat has
    been seen unchanged for the length of the lease.

    locked   whether this process holds the flock
    """
    text = _read(lease)
    holder = _parse(text)
    if lease.name.startswith(_prefix()) and (locked or holder is not None):
        return not locked and holder is not None and _process_started(holder.pid) == holder.started
    length = max(heartbeat.length(), holder.length if holder else 0.0)
    beat, now = text[:DIGITS], time.monotonic()
    seen = _seen.get(lease)
    if seen is None or seen.beat != beat or now - seen.last > length / 2:
        # After a long gap the count begins anew: this process may have been paused itself.
        _seen[lease] = _Seen(beat, now, now)
        return True
    _seen[lease] = seen._replace(last=now)
    return now - seen.since <= length


def is_stale(lease: Path) -> bool:
    """Whether the last heartbeat was hours ago, by the clock of this machine: a guess for display, never a reason to take over."""
    try:
        return time.time() - os.stat(lease / HOLDER).st_mtime > STALE
    except OSError:
        return False


def read_holder(lease: Path) -> Holder | None:
    """The holder of a lease; None if that cannot be read."""
    return _parse(_read(lease))


def _read(lease: Path) -> str:
    try:
        # opened anew each time: NFS then asks the server
        return (lease / HOLDER).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _parse(text: str) -> Holder | None:
    try:
        plain: dict[str, Any] = json.loads(text[DIGITS:])
        return Holder(
            host=str(plain["host"]),
            pid=int(plain["pid"]),
            started=str(plain["started"]),
            length=float(plain["length"]),
            job=str(plain["job"]),
        )
    except (ValueError, KeyError, TypeError):
        return None  # being written, or damaged: the heartbeat decides


def _write_holder(path: Path) -> None:
    holder = Holder(
        host=socket.gethostname(),
        pid=os.getpid(),
        started=_started(os.getpid()),
        length=heartbeat.length(),
        job=os.environ.get(JOB, ""),
    )
    descriptor = os.open(path / HOLDER, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(descriptor, f"{0:0{DIGITS}d}{json.dumps(holder._asdict())}".encode())
    finally:
        os.close(descriptor)


def _clear(path: Path) -> None:
    """Delete everything in a lease folder: the holder's file, unfinished writes and the tail. Damaged files on their way aside
    are moved on."""
    for name in os.listdir(path):
        with contextlib.suppress(FileNotFoundError):
            if name.startswith(HELD):
                finish_move(path / name)
            else:
                os.unlink(path / name)


def _prefix() -> str:
    """How the names of leases begin that are held on this machine."""
    return f"{LEASE}{hashlib.sha256(machine().encode()).hexdigest()[:8]}-"


@functools.cache
def machine() -> str:
    """Names the running kernel and this process's set of process ids; processes with the same name see each other's ids."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


@functools.cache
def _started(own: int) -> str:
    """Start time of this process; by its id, since a forked process has its own."""
    return _process_started(own)


def _process_started(pid: int) -> str:
    """Start time of a process in clock ticks since the boot; empty if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[19]
    except OSError:
        pass
    if Path("/proc/self").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    return "unknown"
