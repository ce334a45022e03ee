"""Rows of a run that are not saved yet, for readers that watch it train.

The tail is a file that grows: rows that were measured after the newest checkpoint, which a killed run will train again. It is
never read to continue a run, so it needs no fsync, and an append costs some ten microseconds; saving a checkpoint starts it
anew. It lies in the lease folder: a process that has lost the lease, at whatever moment, writes to no file that a reader finds.
Its header has a random mark: a reader that finds the mark it knows reads on from where it was. A damaged block, and what
follows it, is not shown.

    header   8 bytes "gs-tail1", 8 random bytes
    block    three uint32: CRC-32 of the run's label and of the rest, bytes of names, bytes of values; the names of the columns
             as JSON; float64 [row, column]
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
from array import array
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from .layout import TAIL, label
from .lease import Lease, find

if TYPE_CHECKING:
    import numpy as np

    from .tables import Row

MAGIC = b"gs-tail1"
HEADER = 16
_BLOCK = struct.Struct("<III")


class Tail:
    """Writes the tail of one run. Safe to use while another thread saves the run."""

    def __init__(self, lease: Lease):
        self.lease = lease
        self._rows: list[Row] = []
        """All rows of the file."""
        self._saved = -1
        self._broken = False
        self._guard = Lock()

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows; those that are saved already are skipped. OSError leaves no partial block for later rows to follow: nothing
        more is added until the next save. Nothing is added once the lease is lost."""
        with self._guard:
            new = [row for row in rows if row["epoch"] > self._saved]  # type: ignore[operator]
            if not new or self._broken:
                return
            try:
                self._write(new, fresh=not self._rows)
            except FileNotFoundError:
                if self.lease.lost:
                    return
                raise
            self._rows += new

    def saved(self, epoch: int) -> None:
        """Drop the rows up to a checkpoint. Best effort: readers skip rows that they find in the saved table."""
        with self._guard:
            self._saved, self._broken = epoch, False
            if not self._rows:
                return
            self._rows = [row for row in self._rows if row["epoch"] > epoch]  # type: ignore[operator]
            with contextlib.suppress(OSError):
                if self._rows:
                    self._write(self._rows, fresh=True)
                else:
                    os.unlink(self.lease.path / TAIL)

    def _write(self, rows: Sequence[Row], *, fresh: bool) -> None:
        content = (MAGIC + os.urandom(8) if fresh else b"") + b"".join(_blocks(rows, _label(self.lease.path.parent)))
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_TRUNC if fresh else os.O_APPEND)
        try:
            descriptor = os.open(self.lease.path / TAIL, flags, 0o666)
            try:
                if os.write(descriptor, content) != len(content):
                    raise OSError("written in part")
            finally:
                os.close(descriptor)
        except OSError:
            self._broken = True
            raise


def find_tail(run: Path) -> Path | None:
    """Where the tail of a run is, if it has one; None for a run without a lease."""
    lease = find(run)
    return lease / TAIL if lease else None


class Block(NamedTuple):
    """Some consecutive rows with the same columns."""

    columns: list[str]
    values: np.ndarray
    """float64 [row, column]; NaN where a row has no number."""


class TailPosition(NamedTuple):
    """How far a tail has been read."""

    mark: bytes = b""
    offset: int = 0


def read_tail(path: Path | None, position: TailPosition) -> tuple[TailPosition, list[Block]]:
    """The blocks behind `position`, and the new position. If its mark is not that of `position`, the tail was started anew and
    all of its blocks are returned. A missing or unfinished file has none."""
    if path is None:
        return TailPosition(), []
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return TailPosition(), []
    try:
        mark = os.pread(descriptor, HEADER, 0)
        if len(mark) < HEADER or not mark.startswith(MAGIC):
            return TailPosition(), []
        offset = position.offset if mark == position.mark else HEADER
        content = os.pread(descriptor, max(os.fstat(descriptor).st_size - offset, 0), offset)
        if os.pread(descriptor, HEADER, 0) != mark:  # started anew meanwhile: next time
            return TailPosition(), []
    except OSError:
        return TailPosition(), []
    finally:
        os.close(descriptor)
    blocks, read = _decode(content, _label(path.parent.parent))
    return TailPosition(mark, offset + read), blocks


def _label(run: Path) -> str:
    return label(run / TAIL)


def _blocks(rows: Sequence[Row], label: str) -> Iterator[bytes]:
    for columns, members in groupby(rows, key=tuple):
        own = list(members)
        names = json.dumps(columns).encode()
        values = b"".join(map(_values, own))
        yield _BLOCK.pack(_checksum(label, names, values), len(names), len(values)) + names + values


def _values(row: Row) -> bytes:
    try:
        return array("d", row.values()).tobytes()  # type: ignore[type-var]
    except TypeError:  # None
        return array("d", [float("nan") if value is None else float(value) for value in row.values()]).tobytes()


def _checksum(label: str, names: bytes, values: bytes) -> int:
    return crc32(values, crc32(names, crc32(f"{label} {len(names)} {len(values)}".encode())))


def _decode(content: bytes, label: str) -> tuple[list[Block], int]:
    """The complete blocks, and their length in bytes."""
    import numpy as np

    blocks, place = [], 0
    while place + _BLOCK.size <= len(content):
        checksum, middle, length = _BLOCK.unpack_from(content, place)
        start = place + _BLOCK.size
        end = start + middle + length
        names, values = content[start : start + middle], content[start + middle : end]
        if end > len(content) or _checksum(label, names, values) != checksum:  # not complete yet, or damaged
            break
        columns = json.loads(names)
        blocks.append(Block(columns, np.frombuffer(values).reshape(-1, len(columns))))
        place = end
    return blocks, place
