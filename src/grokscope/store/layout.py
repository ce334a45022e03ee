"""What a run folder looks like on disk: names of files, and the version of the format.

<runs>/<id>/
  config.json        the whole resolved configuration
  manifest.json      schema version, package versions, device, git commit, time of creation, names of the measures, and the
                     files that were loaded with --load (path, SHA-256, source)
  state.json         status, epoch, seconds, summary numbers
  tags.json          the name and the tags that a user gave it; missing if there are none
  metrics/           part-<first epoch>-<last epoch>.parquet, one per save; joined as rows-<first>-<last>.parquet in a finished run
  added/             <measure>.parquet, columns that were measured after training
  checkpoints/       epoch-<n>.safetensors (the newest only), kept-<n>.safetensors (kept permanently)
  lock               held by the process that trains the run
  lease-<…>/         which process may write the run, for file systems where the lock cannot tell (`lease`); in it tail, the rows
                     after the newest checkpoint
  .damaged/          damaged files, and later ones, that were moved aside when the run went back to an earlier epoch

Every file but the lock and the lease is sealed (`seal`; the tail block by block) under a label that names the run and the file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from .disk import is_temporary, listing

SCHEMA = 3
"""Version of this layout, and of what config.json may hold. Raised when an older grokscope could no longer read a new folder, or
this one can no longer verify an old folder."""

CONFIG = "config.json"
MANIFEST = "manifest.json"
STATE = "state.json"
TAGS = "tags.json"
METRICS = "metrics"
ADDED = "added"
CHECKPOINTS = "checkpoints"
LOCK = "lock"
TAIL = "tail"
LEASE = "lease-"
"""How the name of the lease folder begins."""
ASIDE = ".damaged"
INDEX = ".index.json"
"""The index of a folder of runs (`index`)."""
DRAFT = ".new-"
"""A run folder that is being created has this before its name."""

_PART = re.compile(r"(part|rows)-(\d+)-(\d+)\.parquet")
_CHECKPOINT = re.compile(r"(epoch|kept)-(\d+)\.safetensors")


class PartFile(NamedTuple):
    """A piece of the metric table; the epochs in its name are those of its first and last row."""

    first: int
    last: int
    path: Path


class CheckpointFile(NamedTuple):
    """A checkpoint; of two at the same epoch the kept one counts as the newer, since it is never deleted."""

    epoch: int
    kept: bool
    path: Path


def run_file(run: Path, name: str) -> tuple[str, str]:
    """The path and the label of a JSON file of a run. As plain text: thousands of runs are listed."""
    return f"{run}{os.sep}{name}", f"run {run.name.removeprefix(DRAFT)}/{name}"


def label(path: Path) -> str:
    """The label under which a file of a run is sealed: the run's id and the file's name within the run. For a checkpoint that is
    its epoch: it may be renamed to one that is kept."""
    folder, name = path.parent, path.name
    if folder.name in (METRICS, ADDED, CHECKPOINTS):
        match = _CHECKPOINT.fullmatch(name)
        folder, name = folder.parent, f"{folder.name}/{int(match[2]) if match else name}"
    return f"run {folder.name.removeprefix(DRAFT)}/{name}"


def part_file(run: Path, first: int, last: int) -> PartFile:
    return PartFile(first, last, run / METRICS / f"part-{first:09d}-{last:09d}.parquet")


def checkpoint_file(run: Path, epoch: int, kept: bool) -> CheckpointFile:
    return CheckpointFile(epoch, kept, run / CHECKPOINTS / f"{'kept' if kept else 'epoch'}-{epoch:09d}.safetensors")


def joined_file(run: Path, first: int, last: int) -> Path:
    """The file that takes the place of all parts from `first` to `last`."""
    return run / METRICS / f"rows-{first:09d}-{last:09d}.parquet"


def part_files(run: Path) -> list[PartFile]:
    """All parts of the metric table, in order of epochs, without those that are superseded. Files with other names are not ours and
    are left alone."""
    found = _parts(run)
    return found if not _joined(found) else sorted(set(found) - set(_superseded(found)))


def superseded_parts(run: Path) -> list[PartFile]:
    """Parts whose rows are in a joined file too: their deletion was interrupted, or is yet to come."""
    return _superseded(_parts(run))


def _parts(run: Path) -> list[PartFile]:
    matches = ((_PART.fullmatch(path.name), path) for path in listing(run / METRICS))
    return sorted(PartFile(int(m[2]), int(m[3]), path) for m, path in matches if m)


def _joined(parts: list[PartFile]) -> list[PartFile]:
    return [part for part in parts if part.path.name.startswith("rows-")]


def _superseded(parts: list[PartFile]) -> list[PartFile]:
    joined = _joined(parts)
    return [
        part
        for part in parts
        if any(one.path != part.path and one.first <= part.first and part.last <= one.last for one in joined)
    ]


def checkpoint_files(run: Path) -> list[CheckpointFile]:
    """All checkpoints, the newest last."""
    matches = ((_CHECKPOINT.fullmatch(path.name), path) for path in listing(run / CHECKPOINTS))
    return sorted(CheckpointFile(int(m[2]), m[1] == "kept", path) for m, path in matches if m)


def leftovers(run: Path) -> list[Path]:
    """Temporary files of a writer that was killed."""
    return [
        path for folder in (run, run / METRICS, run / CHECKPOINTS) for path in listing(folder) if is_temporary(path)
    ]
