"""Verification of stored runs: every byte of every file, every row, every checkpoint; and repair of what can be repaired."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import StoreError
from . import tables
from .added import check_added, read_added, stored_measures
from .checkpoints import check_kept
from .disk import DamageError
from .layout import ADDED, CHECKPOINTS, CONFIG, MANIFEST, METRICS, STATE, PartFile, checkpoint_files, part_files
from .lease import Lease
from .lock import Lock, is_held
from .manifest import read_description
from .recovery import advice, go_back, last_complete, missing_kept, read_saved, write_state
from .state import State, read_state
from .tags import verified_tags

NameOf = Callable[[Mapping[str, Any], str], str | None]
"""From a stored config and the name of its folder to the id that belongs to it; None where that is not known."""


@dataclass(frozen=True, kw_only=True)
class RunCheck:
    """The result of verifying one run."""

    id: str
    path: Path
    problems: list[str] = field(default_factory=list)
    """What is wrong, one line each; empty for an intact run."""
    advice: str = ""
    """What to do about it."""
    repairable: bool = False
    repaired: str = ""
    """What was repaired, in words."""


def run_like_folders(folder: Path) -> list[Path]:
    """All folders that hold any file or folder of a run, by name: also those that lost their JSON files."""
    names = (CONFIG, MANIFEST, STATE, METRICS, CHECKPOINTS)
    if (folder / MANIFEST).exists():
        raise StoreError(f"{folder}: a run, not a folder of runs; give the folder above it")
    try:
        found = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".") and path.is_dir()]
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read ({error.strerror})") from error
    return [path for path in found if any((path / name).exists() for name in names)]


def check_run(path: Path, name_of: NameOf = lambda config, name: None) -> RunCheck:
    """Verify everything in a run folder. Changes nothing; safe while the run trains."""
    problems: list[str] = []
    try:
        config, _ = read_description(path)
        if (name := name_of(config, path.name)) not in (None, path.name):
            raise DamageError(f"{path / CONFIG}: its settings are those of run {name}, not of {path.name}")
    except StoreError as error:
        hint = "" if "grokscope" in str(error) else f"grokscope rm {path.name} deletes it, --again trains it again"
        return RunCheck(id=path.name, path=path, problems=[str(error)], advice=hint)
    stored: State | None = None
    try:
        stored = read_state(path)
    except StoreError as error:
        problems.append(str(error))
    problems += map(str, _damage(path, stored))
    tagged = _damaged_tags(path)
    if tagged and not problems:
        return RunCheck(id=path.name, path=path, problems=[tagged], advice="grokscope tag gives it a new name")
    problems += [tagged] if tagged else []
    if not problems:
        return RunCheck(id=path.name, path=path)
    complete = last_complete(path)
    told = advice(path, stored, complete)
    return RunCheck(id=path.name, path=path, problems=problems, advice=told, repairable=complete is not None)


def repair_run(path: Path, name_of: NameOf = lambda config, name: None) -> RunCheck:
    """Verify a run and repair it: truncate it to the last epoch at which everything is complete, move damaged files aside, and
    strike lost ones off its state. What cannot be repaired without a guess is left as it is."""
    found = check_run(path, name_of)
    if not found.repairable:
        return found
    if is_held(path):
        return dataclasses.replace(found, advice="it is being trained; repair it afterwards")
    try:
        lock = Lock.take(path, path.name)
    except OSError as error:
        raise StoreError(f"{path}: cannot be locked ({error})") from error
    try:
        done = _repair(path, lock.lease)
    except DamageError:
        return found
    finally:
        lock.release()
    after = check_run(path, name_of)
    return dataclasses.replace(after, repaired=done if not after.problems else "")


def _damaged_tags(path: Path) -> str:
    """What is wrong with its name and tags; empty if nothing is."""
    try:
        verified_tags(path)
    except StoreError as error:
        return str(error)
    return ""


def _damage(run: Path, stored: State | None) -> Iterator[StoreError]:
    """All damage to rows, checkpoints and added measures; `stored` is None if the state itself is damaged."""
    parts: list[tuple[PartFile, int]] = []
    whole = True
    for part in part_files(run):
        try:
            parts.append((part, len(tables.read_part(part))))
        except DamageError as error:
            # A run that trains drops parts beyond its checkpoint when it is opened.
            if part.path.exists() or part.path.is_symlink():
                whole = False
                yield error
    files = checkpoint_files(run)
    for file in files:
        try:
            read_saved(file)
        except DamageError as error:
            if file.path.exists() or file.path.is_symlink():
                yield error
    for measure in stored_measures(run):
        try:
            read_added(run / ADDED / f"{measure}.parquet")
        except DamageError as error:
            yield error
    if stored is None:
        return
    checks: list[Callable[[], None]] = [
        lambda: check_kept(run, checkpoint_files(run), stored),
        lambda: check_added(run, stored_measures(run), stored),
    ]
    if whole:  # else the missing rows are those of the damaged part, which is named already
        checks.append(lambda: tables.check_rows(run, parts, stored))
    for check in checks:
        try:
            check()
        except DamageError as error:
            yield error


def _repair(run: Path, lease: Lease) -> str:
    """Repair a locked run and return what was done; DamageError, and nothing changed, if no checkpoint is complete."""
    try:
        stored: State | None = read_state(run)
    except DamageError:
        stored = None
    complete = last_complete(run)
    if complete is None:
        raise DamageError(advice(run, stored, None))
    done = []
    lost = missing_kept(run, stored, complete)
    for file in checkpoint_files(run):
        if file.epoch <= complete.checkpoint.epoch and file != complete.checkpoint and not _reads(read_saved, file):
            lease.move_aside(file.path)
            lost += [file.epoch] if file.kept else []
    gone = [name for name in (stored.added if stored else ()) if name not in stored_measures(run)]
    for measure in stored_measures(run):
        if not _reads(read_added, path := run / ADDED / f"{measure}.parquet"):
            lease.move_aside(path)
            gone.append(measure)
    before = stored.epoch if stored else None
    if stored is None and os.path.lexists(run / STATE):
        lease.move_aside(run / STATE)
    state = go_back(lease, stored, complete)
    if stored is None:
        done.append(
            f"its state is that of the checkpoint of epoch {state.epoch}, and training decides if it is finished"
        )
    elif before != state.epoch:
        done.append(f"it is back at epoch {state.epoch} (of {before})")
    if lost:
        done.append(f"without the kept checkpoint of epoch {', '.join(map(str, sorted(lost)))}")
    if gone:
        state = dataclasses.replace(state, added=[name for name in state.added if name not in gone])
        write_state(lease, state)
        done.append(f"without the added measure {', '.join(sorted(gone))}")
    return ", ".join(done) or "damaged files were moved aside"


def _reads(read: Callable[[Any], object], file: Any) -> bool:
    try:
        read(file)
    except DamageError:
        return False
    return True
