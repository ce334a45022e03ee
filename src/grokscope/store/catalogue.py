"""Read-only access to stored runs: all runs in a folder, or one run by the beginning of its id.

Reads JSON alone, each file once; of finished runs in a large folder, only the index. A damaged run is listed with status "damaged"
and the problem, so that one bad folder does not hide the others; asking for that run by name raises the problem as a
StoreError. A run that is deleted meanwhile is not listed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..garbage import no_collection
from .checkpoints import Checkpoint, check_kept, read_checkpoint_file
from .disk import reason
from .index import Entry, Index, key_of
from .layout import CheckpointFile, checkpoint_files
from .lock import is_held
from .manifest import read_description
from .runs_folder import check_runs_folder, is_run
from .state import FINISHED, read_state
from .tags import read_tags


@dataclass(frozen=True, kw_only=True, repr=False)
class RunInfo:
    """Information about a run that needs no metrics."""

    id: str
    path: Path
    status: str
    """running, stopped, failed, done, grokked, diverged, or damaged."""
    config: dict[str, Any] = field(default_factory=dict)
    """The whole resolved configuration; empty if damaged."""
    manifest: dict[str, Any] = field(default_factory=dict)
    """Versions, device, commit and time of creation; empty if damaged."""
    epoch: int = 0
    """Epoch of the newest checkpoint."""
    seconds: float = 0.0
    """Training time so far."""
    summary: dict[str, Any] = field(default_factory=dict)
    """Numbers such as t_mem, t_grok, train_accuracy and test_accuracy."""
    reason: str = ""
    """Why a run failed."""
    problem: str = ""
    """What is wrong with a damaged run."""
    name: str = ""
    """What the user calls it: `--name`, `grokscope tag`, or the name that `grokscope.watch` or `grokscope.log` was given."""
    tags: tuple[str, ...] = ()
    """The user's tags."""

    def __repr__(self) -> str:
        """One line: id, name, status, epoch and times."""
        named = f" {self.name!r}" if self.name else ""
        if self.problem:
            return f"<Run {self.id}{named} damaged: {self.problem}>"
        found = {key: self.summary.get(key) for key in ("t_mem", "t_grok")}
        times = "".join(f", {key} {value:,}" for key, value in found.items() if isinstance(value, int))
        seed = f", seed {self.config['seed']}" if "seed" in self.config else ""
        return f"<Run {self.id}{named} {self.status} at epoch {self.epoch:,}{seed}{times}>"


def read_run(path: str | Path) -> RunInfo:
    """The run in one folder; StoreError if it is damaged."""
    path = path if isinstance(path, Path) else Path(path)  # making one anew takes longer than reading a small file
    config, manifest = read_description(path)
    state = read_state(path)
    status = state.status
    if not state.finished:
        # The lock takes precedence over the file: a killed run could not record that it stopped.
        status = "running" if is_held(path, shown=True) else "failed" if status == "failed" else "stopped"
    own = read_tags(path)
    return RunInfo(
        id=path.name,
        path=path,
        status=status,
        name=own.name or str(config.get("name", "")),
        tags=own.tags,
        config=config,
        manifest=manifest,
        epoch=state.epoch,
        seconds=state.seconds,
        summary=state.summary,
        reason=state.reason if status == "failed" else "",
    )


def list_runs(folder: str | Path) -> list[RunInfo]:
    """All runs in `folder`, oldest first, damaged ones last. Folders without any file of a run are skipped."""
    with no_collection():
        paths = _candidates(Path(folder))
        index = Index(Path(folder), len(paths))
        found = (_indexed(path, index) for path in paths)
        runs = [run for run in found if not run.problem or is_run(run.path)]
        index.save()
    return sorted(runs, key=lambda run: (run.status == "damaged", run.manifest.get("created", ""), run.id))


def find_run(folder: str | Path, prefix: str, *, damaged: bool = False) -> RunInfo:
    """The one run whose id is, or begins with, `prefix`.

    damaged   return a damaged run with its problem, as `list_runs` does, instead of raising it
    """
    if not prefix:
        raise StoreError("the id of a run cannot be empty")
    folder = Path(folder)
    check_runs_folder(folder)
    read = _read_or_damaged if damaged else read_run
    if _is_name(prefix) and is_run(folder / prefix):  # a whole id: thousands of others need not be listed
        return read(folder / prefix)
    paths = {path.name: path for path in _candidates(folder) if is_run(path)}
    found = sorted(id for id in paths if id.startswith(prefix))
    if len(found) == 1:
        return read(paths[found[0]])
    if found:
        shown = ", ".join(found[:4]) + (", …" if len(found) > 4 else "")
        raise StoreError(f"{len(found)} runs in {folder} begin with {prefix!r}: {shown}")
    if not paths:
        raise StoreError(f"{folder}: contains no runs")
    close = max(sorted(paths), key=lambda id: SequenceMatcher(None, prefix, id[: len(prefix)]).ratio())
    raise StoreError(f"no run in {folder} is called {prefix!r}. Did you mean {close}?")


def kept_epochs(run: RunInfo) -> list[int]:
    """Epochs of the checkpoints that a run has, the newest last; StoreError if one of them is lost."""
    return sorted({file.epoch for file in _checkpoints(run)})


def read_checkpoint(run: RunInfo, epoch: int | None = None) -> Checkpoint:
    """The newest checkpoint of a run, or the one of `epoch`."""
    files = {file.epoch: file for file in _checkpoints(run)}
    if not files:
        raise StoreError(f"run {run.id} has no checkpoint yet")
    wanted = max(files) if epoch is None else epoch
    if wanted not in files:
        raise StoreError(
            f"run {run.id} has no checkpoint of epoch {wanted}, only of {', '.join(map(str, sorted(files)))}"
        )
    return read_checkpoint_file(files[wanted].path)


def _checkpoints(run: RunInfo) -> list[CheckpointFile]:
    """All checkpoints of a run; the state is read first, since a run that trains may save another one meanwhile."""
    state = read_state(run.path)
    files = checkpoint_files(run.path)
    check_kept(run.path, files, state)
    return files


def run_folders(folder: str | Path) -> list[Path]:
    """The folders of all runs in `folder`, not yet read."""
    return [path for path in _candidates(Path(folder)) if is_run(path)]


def _candidates(folder: Path) -> list[Path]:
    """The folders in `folder` that may be runs."""
    check_runs_folder(folder)
    try:
        with os.scandir(folder) as entries:
            # Hidden folders are runs that are being created or deleted.
            return [folder / entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read ({reason(error)})") from error


def _is_name(id: str) -> bool:
    """Whether it is the name of a folder, not a path to one."""
    return os.path.basename(id) == id and not id.startswith(".")


def _indexed(path: Path, index: Index) -> RunInfo:
    """A run from the index, or from its files."""
    if (entry := index.get(path.name)) is not None:
        own = read_tags(path)  # they may change at any time
        named = own.name or str(entry.config.get("name", ""))
        return RunInfo(id=path.name, path=path, name=named, tags=own.tags, **entry._asdict())
    key = key_of(path) if index.many else None  # before the files are read: they may change meanwhile
    run = _read_or_damaged(path)
    if run.status in FINISHED:
        index.add(run.id, key, Entry(run.status, run.config, run.manifest, run.epoch, run.seconds, run.summary))
    return run


def _read_or_damaged(path: Path) -> RunInfo:
    try:
        return read_run(path)
    except StoreError as error:
        return RunInfo(id=path.name, path=path, status="damaged", problem=str(error))
