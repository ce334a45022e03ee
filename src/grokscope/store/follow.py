"""Following runs while they train: each poll reads only what is new on disk.

A run's saved rows are read when its state.json changes, part by part; rows after its newest checkpoint are read from its tail.
The tail is read before the state, and a save writes its part and the state before it restarts the tail: no row is missed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StoreError
from .catalogue import RunInfo, read_run
from .layout import CONFIG, MANIFEST, STATE, PartFile, part_files
from .lock import is_held
from .state import FINISHED, read_state
from .tables import check_rows, read_part
from .tail import Block, TailPosition, find_tail, read_tail

if TYPE_CHECKING:
    import numpy as np

Columns = dict[str, "np.ndarray"]
"""float64 values of each metric, "epoch" among them, in order of epochs; NaN where a row has no number."""


class Follower:
    """The description and the rows of one run, as they are on disk at the last `poll`."""

    def __init__(self, path: Path, wanted: Callable[[str], bool] = lambda name: True):
        """wanted   whether a metric is read; "epoch" always is"""
        self.path = path
        self.info: RunInfo | None = None
        """None before the first poll, and once the run is deleted."""
        self.version = 0
        """Raised whenever the info or a row changes."""
        self._wanted = wanted
        self._signature: tuple[object, ...] = ()
        self._parts: list[PartFile] = []
        self._rows: list[int] = []
        """Rows of each part."""
        self._saved: list[Columns] = []
        self._position = TailPosition()
        self._tail: list[Block] = []
        self._tail_signature: object = None
        self._columns: Columns | None = None

    @property
    def last_saved(self) -> float:
        """Epoch of the last row in the parts."""
        return self._parts[-1].last if self._parts else -1

    def poll(self) -> bool:
        """Read what is new; whether anything is. A run that is gone has `info` None; one that cannot be read is "damaged"."""
        if not self.path.is_dir():
            gone = self.info is not None
            self.info, self.version = None, self.version + gone
            return gone
        changed = self._poll_tail()
        signature = tuple(_signature(self.path / name) for name in (STATE, CONFIG, MANIFEST))
        held = (
            is_held(self.path) if self.info is None or self.info.status in ("running", "stopped", "failed") else False
        )
        if signature != self._signature or held != (self.info is not None and self.info.status == "running"):
            if self._signature[2:] != signature[2:]:  # another manifest: perhaps another run, trained again
                self._parts, self._rows, self._saved = [], [], []
            self._signature = signature
            before = self.info
            try:
                self.info = read_run(self.path)
                changed |= self._poll_parts()
            except StoreError as error:
                if not self.path.is_dir():
                    return self.poll()
                self.info = RunInfo(id=self.path.name, path=self.path, status="damaged", problem=str(error))
            changed |= self.info != before
        if changed:
            self._columns = None
            self.version += 1
        return changed

    @property
    def columns(self) -> Columns:
        """All rows: the saved ones, then those of the tail."""
        if self._columns is None:
            self._saved = [_joined(self._saved)] if self._saved else []
            self._columns = _joined([*self._saved, *_of_tail(self._tail, self.last_saved, self._wanted)])
        return self._columns

    def _poll_tail(self) -> bool:
        if self.info is not None and self.info.status in FINISHED and not self._tail:
            return False  # thousands of finished runs are followed
        path = find_tail(self.path)
        signature = _signature(path) if path else None
        if signature == self._tail_signature:
            return False
        self._tail_signature = signature
        position, blocks = read_tail(path, self._position)
        restarted = position.mark != self._position.mark
        had = bool(self._tail)
        self._tail = _merged(blocks if restarted else [*self._tail, *blocks])
        self._position = position
        return bool(blocks) or (restarted and had)

    def _poll_parts(self) -> bool:
        state = read_state(self.path)
        found = part_files(self.path)
        known = len(self._parts)
        if found[:known] != self._parts:  # the run went back to an earlier checkpoint, or was trained again
            self._parts, self._rows, self._saved, known = [], [], [], 0
        for part in found[known:]:
            table = read_part(part)
            own = {"epoch", *filter(self._wanted, table.column_names)}
            self._saved.append({name: _floats(table.column(name)) for name in table.column_names if name in own})
            self._parts.append(part)
            self._rows.append(len(table))
        check_rows(self.path, list(zip(found, self._rows, strict=True)), state)
        return len(found) != known


def _signature(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is replaced or grows."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _floats(column: object) -> np.ndarray:
    import numpy as np
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)  # type: ignore[attr-defined]


def _merged(blocks: list[Block]) -> list[Block]:
    """The same rows in fewer blocks: most have the same columns."""
    import numpy as np

    groups = [(columns, list(own)) for columns, own in groupby(blocks, key=lambda block: block.columns)]
    return [Block(columns, np.concatenate([block.values for block in own])) for columns, own in groups]


def _of_tail(blocks: list[Block], last_saved: float, wanted: Callable[[str], bool]) -> list[Columns]:
    """The rows of a tail that are not saved yet."""
    tables = []
    for block in blocks:
        epoch = block.values[:, block.columns.index("epoch")]
        new = epoch > last_saved
        if new.any():
            names = [name for name in block.columns if name == "epoch" or wanted(name)]
            tables.append({name: block.values[new, block.columns.index(name)] for name in names})
    return tables


def _joined(tables: list[Columns]) -> Columns:
    """One table with the columns of all."""
    import numpy as np

    if not tables:
        return {"epoch": np.empty(0)}
    if len(tables) == 1:
        return tables[0]
    names = dict.fromkeys(name for table in tables for name in table)
    blank = [np.full(len(table["epoch"]), np.nan) for table in tables]
    return {
        name: np.concatenate([table.get(name, none) for table, none in zip(tables, blank, strict=True)])
        for name in names
    }
