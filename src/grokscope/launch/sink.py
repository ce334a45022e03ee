"""A sink that writes to a run folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis import summary_of
from ..config import RunConfig
from ..fleet import FinishedError
from ..store import RunFolder
from ..trackers import Trackers
from .remaining import branched_at, replay, settle

if TYPE_CHECKING:
    from torch import Tensor

    from ..run.branching import Beginning


class RunWriter:
    """Opens the folder when the run is loaded."""

    def __init__(
        self,
        runs: str | Path,
        config: RunConfig,
        device: str,
        record: dict[str, Any] | None = None,
        numerics: Callable[[], dict[str, Any]] | None = None,
        track: Sequence[Any] = (),
        beginning: Callable[[int], Beginning] | None = None,
    ):
        """
        record     additional entries of the manifest of a new run
        track      trackers that are sent every row once it is saved
        numerics   returns what the run's bits depend on (`ops.blas.numerics`); recorded in the manifest whenever it changes
        beginning  returns what a branch starts from, at the epoch that its manifest names
        """
        self.beginning = beginning
        self.runs, self.config, self.device, self.record, self.numerics = runs, config, device, record, numerics
        self.track = track
        self.trackers: Trackers | None = None
        self.folder: RunFolder | None = None
        self.append_failed = False
        self.history = _history([])
        """Epochs, seconds and accuracies of all rows, for the summary."""

    def resume(self) -> tuple[int, dict[str, Any], dict[str, Tensor]] | None:
        numerics = {"numerics": self.numerics()} if self.numerics else {}
        self.folder = RunFolder.create_or_open(
            self.runs,
            self.config.id,
            self.config.to_dict(),
            device=self.device,
            identity=RunConfig.identity_of,
            record=(self.record or {}) | numerics,
        )
        if numerics:
            self.folder.note_numerics(numerics["numerics"])
        since = branched_at(self.folder.manifest)
        saved = self.folder.latest_checkpoint()
        if saved is None:
            self.history = _history([])
            if self.beginning is None:
                return None
            self._begin(self.beginning(since))
            saved = self.folder.latest_checkpoint()
            assert saved is not None
        rows = self.folder.metrics().to_pylist()
        # another process may have trained the run since this one looked at it; and the stop rule may differ from the one that
        # the checkpoint was saved with
        found = replay(self.config, rows, since)
        if settle(self.folder, self.config, found):
            raise FinishedError(self.config.id)
        self.history = _history(rows)
        branch = {"since": since} if since >= 0 else {}
        return saved.epoch, saved.metadata | {"held_since": found.held_since} | branch, saved.tensors

    def _begin(self, parent: Beginning) -> None:
        """Save what a branch starts from: it depends on its parent no more."""
        assert self.folder is not None
        metadata = {"held_since": None, "seconds": parent.seconds}
        summary = _summary(_history(parent.rows))
        self.folder.save(
            parent.epoch, parent.rows, parent.tensors, metadata, summary, seconds=parent.seconds, keep=True
        )

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
        assert self.folder is not None
        history = {name: self.history[name] + column for name, column in _history(rows).items()}
        summary = _summary(history)
        seconds = metadata["seconds"]
        self.folder.save(epoch, rows, tensors, metadata, summary, status=status, seconds=seconds, keep=keep)
        self.history = history
        if self.track:
            self.trackers = self.trackers or Trackers(self.track, self.config.id, self.config.to_dict())
            for row in rows:
                self.trackers.log(row)

    def append(self, rows: list[dict[str, float]]) -> None:
        if self.folder is None or self.append_failed:
            return
        try:
            self.folder.append(rows)
        except OSError as error:
            self.append_failed = True
            text = error.strerror or error
            print(f"run {self.config.id}: rows are not shown before they are saved ({text})", file=sys.stderr)

    def fail(self, reason: str) -> None:
        if self.folder is not None:
            self.folder.fail(reason)
        self._untrack()

    def close(self) -> None:
        if self.folder is not None:
            self.folder.close()
        self._untrack()

    def _untrack(self) -> None:
        if self.trackers is not None:
            self.trackers.finish()
            self.trackers = None


def _summary(history: dict[str, list[float]]) -> dict[str, Any]:
    """t_mem and t_grok by the default criterion, and the last accuracies, as `grokscope runs` shows them."""
    if not history["epoch"]:
        return {}
    return summary_of(history) | {name: history[name][-1] for name in ("train_accuracy", "test_accuracy")}


def _history(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    return {name: [row[name] for row in rows] for name in ("epoch", "seconds", "train_accuracy", "test_accuracy")}
