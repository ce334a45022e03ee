"""Where a run can continue: at its newest checkpoint if all rows up to it are there, else at the last checkpoint for which that
is so. Training from there reproduces the same bits, so nothing is guessed; what lies beyond it, and what is damaged, is moved
aside into the hidden folder ASIDE of the run, not deleted.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

from . import checkpoints, tables
from .added import stored_measures
from .disk import DamageError, damaged
from .layout import (
    STATE,
    CheckpointFile,
    PartFile,
    checkpoint_files,
    label,
    part_files,
)
from .lease import Lease
from .seal import sealed_json
from .state import State


class Complete(NamedTuple):
    """A checkpoint up to whose epoch everything is complete."""

    checkpoint: CheckpointFile
    state: State
    """The state that it was saved with."""


def resume_point(run: Path, stored: State) -> tuple[State, CheckpointFile | None]:
    """The state of a run and its newest checkpoint; DamageError if that checkpoint or a row before it is damaged or missing.

    stored   what state.json says
    """
    files = checkpoint_files(run)
    checkpoints.check_kept(run, files, stored)
    newest = files[-1] if files else None
    saved = read_saved(newest) if newest else State()
    parts = [(part, len(table)) for part, table in tables.read_all(run)]
    tables.check_rows(run, parts, saved)
    state = saved if saved.serial > stored.serial else stored
    # A kill between the renaming of a checkpoint and the state that names it.
    kept = sorted({*state.kept, *(file.epoch for file in files if file.kept)})
    return (state if kept == state.kept else dataclasses.replace(state, kept=kept)), newest


def last_complete(run: Path) -> Complete | None:
    """The last checkpoint up to which everything is complete; None without one."""
    parts: list[tuple[PartFile, int | None]] = [(part, _rows(part)) for part in part_files(run)]
    for file in reversed(checkpoint_files(run)):
        own = [(part, rows) for part, rows in parts if part.first <= file.epoch]
        try:
            saved = read_saved(file)
            tables.check_rows(run, [(part, rows) for part, rows in own if rows is not None], saved)
        except DamageError:
            continue
        if all(rows is not None for _, rows in own):
            return Complete(file, saved)
    return None


def missing_kept(run: Path, stored: State | None, complete: Complete) -> list[int]:
    """Epochs of kept checkpoints up to a complete one that are not on disk: going back does not bring them back."""
    known = {*complete.state.kept, *(stored.kept if stored else ())}
    kept = {file.epoch for file in checkpoint_files(run) if file.kept}
    return sorted(epoch for epoch in known if epoch <= complete.checkpoint.epoch and epoch not in kept)


def advice(run: Path, stored: State | None, complete: Complete | None) -> str:
    """What can be done about a damaged run.

    stored   what state.json says; None if it is damaged
    """
    if complete is None:
        return (
            "it cannot be repaired, since no checkpoint with all rows before it is left: "
            f"grokscope rm {run.name} deletes it, --again trains it again"
        )
    return f"grokscope check --repair {run.name} {_steps(run, stored, complete)}"


def _steps(run: Path, stored: State | None, complete: Complete) -> str:
    epoch = complete.checkpoint.epoch
    steps = []
    if stored is None:
        steps.append(f"restores its state from the checkpoint of epoch {epoch}")
    elif epoch < stored.epoch:
        steps.append(f"goes back to epoch {epoch}")
    if lost := missing_kept(run, stored, complete):
        steps.append(f"gives up the kept checkpoint of epoch {', '.join(map(str, lost))}")
    return " and ".join(steps) or "moves the damaged files aside"


def go_back(lease: Lease, stored: State | None, complete: Complete) -> State:
    """Move everything beyond a complete checkpoint aside and return the state of the run from then on. The state is written last:
    a kill before that leaves a run that goes back again.

    lease    that of the run; LostLeaseError, and nothing more changed, once another process has taken it over
    stored   what state.json says; None if it is damaged
    """
    run = lease.path.parent
    file, saved = complete
    for part in part_files(run):
        if part.last > file.epoch:
            lease.move_aside(part.path)
    for other in checkpoint_files(run):
        if (other.epoch, other.kept) > (file.epoch, file.kept):
            lease.move_aside(other.path)
    # A run at an earlier epoch, or of unknown status, is not finished: the next training decides.
    current = stored is not None and stored.epoch == file.epoch and stored.serial >= saved.serial
    base = stored if stored is not None and current else dataclasses.replace(saved, status="running")
    state = dataclasses.replace(
        base,
        kept=sorted(other.epoch for other in checkpoint_files(run) if other.kept),
        added=stored.added if stored else stored_measures(run),
        serial=max(saved.serial, stored.serial if stored else 0) + 1,
    )
    write_state(lease, state)
    return state


def write_state(lease: Lease, state: State) -> None:
    path = lease.path.parent / STATE
    lease.write(path, sealed_json(state.to_dict(), label(path)))


def read_saved(file: CheckpointFile) -> State:
    """The state in a checkpoint, after checking every byte of it."""
    saved = checkpoints.read_state_of(file.path)
    if saved.epoch != file.epoch:
        raise damaged(file.path, f"it is the checkpoint of epoch {saved.epoch}")
    return saved


def _rows(part: PartFile) -> int | None:
    """Rows of a part; None if it is damaged."""
    try:
        return len(tables.read_part(part))
    except DamageError:
        return None
