"""A run folder open for training: the only writer of metrics and checkpoints.

Every write and deletion goes through the lease of the run, so that a process that lost it changes nothing (`lease`).

Writing the checkpoint commits a save. Metrics are written before it, so a checkpoint never lacks its rows; state.json and
the deletion of older checkpoints come after it. Opening a folder restores it to its newest checkpoint: later rows are
dropped, since they will be trained again, and state.json is rewritten. Rows after it may be in the tail (`append`), which only
readers that watch the run use. If the newest checkpoint or rows before it are damaged,
the run goes back to the last checkpoint up to which everything is complete (`recovery`), with a line on stderr.

The same run may be requested with other settings that do not change its numbers, such as more epochs. A finished run is then
reopened: its last checkpoint is kept permanently (other runs may refer to it), state.json is set to running, and only then
config.json changes, so that a run never counts as finished under settings it was not trained with.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..errors import StoreError
from . import checkpoints, tables
from .added import save_added
from .compaction import compact
from .creation import create
from .disk import DamageError, check_writable, make_folder, read
from .layout import (
    CHECKPOINTS,
    CONFIG,
    MANIFEST,
    METRICS,
    STATE,
    CheckpointFile,
    checkpoint_file,
    checkpoint_files,
    label,
    leftovers,
    part_file,
    part_files,
    superseded_parts,
)
from .lock import Lock
from .manifest import difference, last_numerics, new_manifest, read_description
from .recovery import advice, go_back, last_complete, missing_kept, resume_point
from .seal import sealed_json
from .state import State, read_state
from .tail import Tail

if TYPE_CHECKING:
    import pyarrow as pa
    from torch import Tensor


class RunFolder:
    """One run on disk, locked for this process. Use `create_or_open`; close it when done (it is a context manager)."""

    def __init__(self, path: Path, lock: Lock, config: dict[str, Any], manifest: dict[str, Any] | None = None):
        """
        config     the requested config, known to be that of the run in the folder
        manifest   that of a folder which was created a moment ago, under `lock`: there is nothing to read or to restore
        """
        self.path = path
        self.id = path.name
        self._lock = lock
        self._newest: CheckpointFile | None = None
        self._broken = False
        """Whether a save failed."""
        self._tail = Tail(lock.lease)
        self.state = State()
        """State of the run; `state.finished` is True if there is nothing left to train."""
        stored, self.manifest = read_description(path) if manifest is None else (config, manifest)
        """The manifest, written when the run was created."""
        if manifest is None:
            self._verify()
            self._settle()
        if stored != config:
            self._change_config(config)
        lock.sign()

    @classmethod
    def create_or_open(
        cls,
        runs: str | Path,
        id: str,
        config: Mapping[str, Any],
        *,
        device: str,
        identity: Callable[[dict[str, Any]], dict[str, Any]] = lambda config: config,
        record: Mapping[str, Any] | None = None,
    ) -> RunFolder:
        """The folder of run `id`, created if it does not exist, ready to continue from its newest checkpoint.

        identity   the part of a config that distinguishes runs; a stored run that equals `config` in it but differs elsewhere gets
                   the new config and is no longer finished
        record     added to the manifest when the run is created, e.g. {"threads": 2}

        StoreError, and a folder left as it was, when it is being trained by another process, holds another
        configuration, is damaged, foreign or from a newer grokscope, or when it cannot be written.
        """
        path = Path(runs) / id
        check_writable(runs)
        plain = _plain(config)
        lock = manifest = None
        while not path.exists() and lock is None:
            manifest = _plain(new_manifest(device, record))
            lock = create(path, plain, manifest)
        if lock is None:
            manifest = None
            stored, _ = read_description(path)
            if found := difference(identity(stored), identity(plain)):
                raise StoreError(f"{path / CONFIG}: holds another configuration ({found})")
            lock = _take(path)
        try:
            return cls(path, lock, plain, manifest)
        except BaseException:
            lock.release()
            raise

    def latest_checkpoint(self) -> checkpoints.Checkpoint | None:
        """Epoch, metadata and tensors to continue from; None for a run that has not been saved yet."""
        return checkpoints.read_checkpoint_file(self._newest.path) if self._newest else None

    def metrics(self) -> pa.Table:
        """All rows so far."""
        return tables.join([table for _, table in tables.read_parts(self.path)])

    def append(self, rows: Sequence[tables.Row]) -> None:
        """Show rows to readers before they are saved: `follow` finds them. They are part of the run once they are given to `save`,
        which may run in another thread. OSError if they cannot be written; training may continue."""
        if self._lock.held and self._lock.is_in(self.path):
            self._tail.append(rows)

    def save(
        self,
        epoch: int,
        rows: Sequence[tables.Row],
        tensors: Mapping[str, Tensor],
        metadata: Mapping[str, Any],
        summary: Mapping[str, Any],
        *,
        status: str = "running",
        seconds: float = 0.0,
        keep: bool = False,
    ) -> None:
        """Save the run at `epoch`: `rows` since the last save, and a checkpoint.

        keep   never delete this checkpoint; others are deleted once there is a newer one

        After a failed save the folder holds the last save or this one; opening it again determines which. Until then nothing more
        can be saved: call `fail` or `close`.
        """
        self._check_open()
        if not self._lock.is_in(self.path):
            self.close()
            raise StoreError(f"{self.path}: deleted or replaced while the run was trained")
        saved = self._newest.epoch if self._newest else -1
        if epoch < saved:
            raise ValueError(f"epoch {epoch} is before epoch {saved}, which is already saved")
        epochs = tables.row_epochs(rows)
        if rows and not saved < epochs[0] <= epochs[-1] <= epoch:
            raise ValueError(f"the epochs of the rows must lie above {saved} and up to {epoch}, got {epochs}")
        kept = keep or checkpoint_file(self.path, epoch, kept=True).path.exists()
        state = State(
            status=status,
            epoch=epoch,
            seconds=seconds,
            rows=self.state.rows + len(rows),
            serial=self.state.serial + 1,
            kept=sorted({*self.state.kept, epoch}) if kept else self.state.kept,
            added=self.state.added,
            summary=dict(summary),
        )
        file = checkpoint_file(self.path, epoch, kept)
        # Invalid arguments must raise before the first byte is written.
        content = checkpoints.encode(tensors, state, metadata, label(file.path))
        part = part_file(self.path, epochs[0], epochs[-1]).path if rows else None
        table = tables.encode(rows, label(part)) if part else b""
        try:
            if part:
                self._lock.lease.write(part, table, if_full=_go_on(max(saved, 0)))
            self._lock.lease.write(file.path, content, if_full=_go_on(max(saved, 0)))
            self._write(STATE, state.to_dict(), if_full=_go_on(epoch))
            self._newest, self.state = file, state
            self._drop_superseded()
            self._tail.saved(epoch)
            self._compact()
        except Exception:
            self._broken = True  # still locked, so that the caller can store the reason
            raise
        except BaseException:
            self.close()
            raise

    def add_measure(self, name: str, rows: Sequence[tables.Row]) -> None:
        """Store columns measured after training, at the epochs of checkpoints."""
        self._check_open()
        save_added(self.path, name, rows, self._lock.lease.write)
        if name not in self.state.added:
            self._set_state(added=sorted([*self.state.added, name]))

    def note_numerics(self, numerics: Mapping[str, Any]) -> None:
        """Note in the manifest what the run is trained with from its newest checkpoint on: as "numerics" before the first one, and
        every later change in the list "continued", with its epoch and time."""
        self._check_open()
        if last_numerics(self.manifest) == numerics:
            return
        if self._newest is None:
            self.manifest["numerics"] = dict(numerics)
        else:
            change = {"epoch": self._newest.epoch, "time": datetime.now(UTC).isoformat(), "numerics": dict(numerics)}
            self.manifest["continued"] = [*self.manifest.get("continued", []), change]
        self._write(MANIFEST, self.manifest)

    def finish(self, status: str, summary: Mapping[str, Any] | None = None) -> None:
        """Set the status (and the summary, if given) without a new checkpoint, and close the folder."""
        self._check_open()
        state = dataclasses.replace(self.state, status=status, reason="", serial=self.state.serial + 1)
        if summary is not None:
            state = dataclasses.replace(state, summary=dict(summary))
        try:
            self._write(STATE, state.to_dict(), if_full=_go_on(self.state.epoch))
            self.state = state
        finally:
            self.close()

    def fail(self, reason: str) -> None:
        """Store why the run cannot continue, if the folder can be written, and close it."""
        try:
            if self._lock.held and self._lock.is_in(self.path):
                self._verify()
                state = dataclasses.replace(self.state, status="failed", reason=reason, serial=self.state.serial + 1)
                self._write(STATE, state.to_dict())
        except (StoreError, OSError):
            pass  # the cause of the failure may still be there; the caller reports it
        finally:
            self.close()

    def close(self) -> None:
        """Release the run to other processes. A run that is not finished then counts as stopped."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._broken or not self._lock.held:
            raise StoreError(f"{self.path}: closed; open it again to continue")

    def _write(self, name: str, content: dict[str, Any], if_full: str = "") -> None:
        path = self.path / name
        self._lock.lease.write(path, sealed_json(content, label(path)), if_full=if_full)

    def _set_state(self, **changes: Any) -> None:
        state = dataclasses.replace(self.state, serial=self.state.serial + 1, **changes)
        self._write(STATE, state.to_dict())
        self.state = state

    def _verify(self) -> None:
        """Read everything that resuming depends on, and determine the state of the run. Changes nothing on disk unless the run has
        to go back to an earlier checkpoint."""
        stored = read_state(self.path)
        try:
            self.state, self._newest = resume_point(self.path, stored)
        except DamageError as error:
            complete = last_complete(self.path)
            if complete is None or missing_kept(self.path, stored, complete):
                raise StoreError(f"{error}; {advice(self.path, stored, complete)}") from error
            self.state, self._newest = go_back(self._lock.lease, stored, complete), complete.checkpoint
            print(f"run {self.id}: {error}; it goes back to epoch {self.state.epoch}", file=sys.stderr)

    def _settle(self) -> None:
        """Restore the folder to its newest checkpoint."""
        remove = self._lock.lease.remove
        for path in leftovers(self.path):
            remove(path)
        limit = self._newest.epoch if self._newest else -1
        for part in superseded_parts(self.path):
            remove(part.path)
        for part in part_files(self.path):
            if part.first > limit:
                remove(part.path)
        for name in (METRICS, CHECKPOINTS):
            make_folder(self.path / name)
        if self.state != read_state(self.path):
            self._write(STATE, self.state.to_dict())
        self._drop_superseded()

    def _change_config(self, config: dict[str, Any]) -> None:
        """Adopt other settings of the same run; the order of the writes is explained above."""
        if self.state.finished:
            kept = self.state.kept
            if self._newest:
                file = checkpoint_file(self.path, self._newest.epoch, kept=True)
                if not self._newest.kept:
                    self._lock.lease.write(file.path, read(self._newest.path))
                    self._lock.lease.remove(self._newest.path)
                self._newest = file
                kept = sorted({*kept, file.epoch})
            self._set_state(status="running", reason="", kept=kept)
        self._write(CONFIG, config)

    def _compact(self) -> None:
        """Join the parts of a finished run. Nothing depends on it: what cannot be joined now stays as it is."""
        if self.state.finished:
            with contextlib.suppress(StoreError):
                compact(self.path, self.state.kept, self._lock.lease.write, self._lock.lease.remove)

    def _drop_superseded(self) -> None:
        for file in checkpoint_files(self.path):
            if file != self._newest and not file.kept:
                self._lock.lease.remove(file.path)


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """As it will be when it is read from its file."""
    plain: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
    return plain


def _take(path: Path) -> Lock:
    try:
        return Lock.take(path, path.name)
    except FileNotFoundError as error:
        raise StoreError(f"{path}: missing") from error


def _go_on(epoch: int) -> str:
    return f"; the run can continue from epoch {epoch}"
