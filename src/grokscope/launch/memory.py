"""Runs that are trained in memory: a run of a second takes no longer than the files that it would leave behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BusyError
from ..fleet import FinishedError
from ..fleet.lane_state import LaneState
from ..store import FINISHED, last_numerics
from .remaining import replay
from .sink import RunWriter

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig


class MemoryRun:
    """A sink that keeps what others store. The run can be trained further, with a later last epoch, and stored afterwards."""

    def __init__(self, config: RunConfig, on_finish: Callable[[MemoryRun], None] | None = None):
        """on_finish   called in a thread of training, before `train_in_memory` returns"""
        self.config = config
        """May be replaced by one that differs in its last epoch."""
        self.on_finish = on_finish
        self.status = ""
        """As that of a stored run; empty before the first save."""
        self.rows: list[dict[str, float]] = []
        """Of all evaluations."""
        self.saves: list[dict[str, Any]] = []
        """What a stored run holds: the checkpoints that are kept, and the newest one, each with the rows since the one before. The
        tensors of a run that is finished may be on a GPU."""
        self.device = ""
        self.record: dict[str, Any] = {}
        """Further entries of the manifest."""
        self.numerics: Callable[[], dict[str, Any]] = dict

    @property
    def epoch(self) -> int:
        """Of the newest checkpoint."""
        return int(self.saves[-1]["epoch"]) if self.saves else 0

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to train, to the last epoch of `config`."""
        return self.status in FINISHED and replay(self.config, self.rows).status is not None

    @property
    def nbytes(self) -> int:
        """Size of its checkpoints."""
        return sum(_bytes(save["tensors"]) for save in self.saves)

    def resume(self) -> tuple[int, dict[str, Any], Mapping[str, Tensor]] | None:
        if self.saves and not self.saves[-1]["tensors"]:  # released: there is nothing to continue from
            self.saves, self.rows, self.status = [], [], ""
        self._note_numerics(self.numerics())
        if not self.saves:
            return None
        newest = self.saves[-1]
        metadata = newest["metadata"] | {"held_since": replay(self.config, self.rows).held_since}
        return newest["epoch"], metadata, newest["tensors"]

    def save(
        self,
        *,
        epoch: int,
        rows: list[dict[str, float]],
        tensors: Mapping[str, Tensor],
        metadata: dict[str, Any],
        status: str,
        keep: bool,
    ) -> None:
        self.rows += rows
        if self.saves and not self.saves[-1]["keep"]:
            rows = self.saves.pop()["rows"] + rows
        self.saves.append(
            {"epoch": epoch, "rows": rows, "tensors": tensors, "metadata": metadata, "status": status, "keep": keep}
        )
        self.status = status
        if status in FINISHED and self.on_finish is not None:
            self.on_finish(self)

    def append(self, rows: list[dict[str, float]]) -> None:
        """Nobody watches."""

    def fail(self, reason: str) -> None:
        self.status = "failed"

    def close(self) -> None:
        """There is nothing to release."""

    def release(self) -> None:
        """Free the memory of the checkpoints: what was measured stays, but the run cannot be stored, and if it is trained again, it
        begins anew."""
        for save in self.saves:
            save["tensors"] = {}

    def store(self, runs: str | Path) -> None:
        """Write the folder that the run would have, had it been stored from the start, with what was measured of it. One that
        exists is left as it is."""
        writer = RunWriter(runs, self.config, self.device, self.record)
        with suppress(FinishedError, BusyError):
            try:
                if writer.resume() is None:
                    for save in self.saves:
                        writer.save(**save | {"tensors": {name: own.cpu() for name, own in save["tensors"].items()}})
            finally:
                writer.close()

    def _note_numerics(self, now: dict[str, Any]) -> None:
        """As `RunFolder.note_numerics`."""
        if not self.saves:
            self.record = self.record | {"numerics": now}
        elif last_numerics(self.record) != now:
            change = {"epoch": self.epoch, "time": datetime.now(UTC).isoformat(), "numerics": now}
            self.record = self.record | {"continued": [*self.record.get("continued", []), change]}


def _bytes(tensors: Mapping[str, Tensor]) -> int:
    return tensors.nbytes if isinstance(tensors, LaneState) else sum(tensor.nbytes for tensor in tensors.values())
