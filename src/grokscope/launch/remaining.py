"""Which of the requested runs are not finished, given what is stored.

The last epoch, the stop rule and the log settings are not part of a run's id: a stored run may have been trained further than
requested, or not far enough. The stop rule is therefore replayed on the stored rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..config import RunConfig, read_stored
from ..errors import GrokscopeError
from ..fleet.stopping import Row, StopRule
from ..store import FINISHED, RunFolder, RunInfo, read_metrics, read_run

if TYPE_CHECKING:
    import pyarrow as pa

WATCHED = ("epochs", "log", "stop")
"""Settings that may differ between the stored and the requested run."""


class Replay(NamedTuple):
    """Result of replaying the stop rule of a config on stored rows."""

    status: str | None
    """"done", "grokked" or "diverged" if the run would have finished; None if it continues."""
    epoch: int
    """Epoch at which it would have finished, or that of the last row."""
    held_since: int | None
    """First evaluation since which test accuracy has stayed at the stop rule's level; the state of `StopRule`."""


def replay(config: RunConfig, rows: Iterable[Row], since: int = -1) -> Replay:
    """Replay the stop rule on stored rows, up to the one that finishes the run.

    since   epoch at which a branch began: what its parent had reached does not stop it
    """
    stop_rule, status, epoch = StopRule(config), None, 0
    for row in rows:
        if int(row["epoch"]) <= since:
            continue
        epoch, status = int(row["epoch"]), stop_rule.status_of(row)
        if status is not None:
            break
    return Replay(status, epoch, stop_rule.held_since)


def branched_at(manifest: Mapping[str, Any]) -> int:
    """The epoch at which a branch began; −1 for another run."""
    return int(manifest.get("parent", {}).get("epoch", -1))


def judged_rows(table: pa.Table) -> list[Row]:
    """The columns of a metric table that the stop rule reads, row by row."""
    rows: list[Row] = table.select(
        [c for c in ("epoch", "train_loss", "test_accuracy", "val_accuracy") if c in table.column_names]
    ).to_pylist()
    return rows


def settle(folder: RunFolder, config: RunConfig, found: Replay) -> bool:
    """Whether an open run is finished under the requested settings; if so, its status is set and it is closed.

    found   the stop rule, replayed on its rows
    """
    status = found.status
    if status is None and folder.state.epoch >= config.epochs:
        status = "done"
    if not folder.state.finished and status is not None:
        folder.finish(status)
    return folder.state.finished


Notes = dict[str, list[str]]
"""Notes for the user, each with the ids of the runs that it is about."""


def print_line(line: str) -> None:
    print(line, file=sys.stderr)


def print_notes(notes: Notes, notify: Callable[[str], None] = print_line) -> None:
    """One line per note."""
    for text, ids in notes.items():
        shown = ", ".join(ids[:4]) + (", …" if len(ids) > 4 else "")
        notify(f"run {shown}: {text}" if len(ids) == 1 else f"{len(ids)} runs ({shown}): {text}")


def remaining(
    wanted: Mapping[str, RunConfig], runs: str | Path, notify: Callable[[str], None] = print_line
) -> list[str]:
    """The ids of `wanted` that are not finished under the requested settings.

    Opening an unfinished run repairs an interrupted write. A run that another process trains, or that is damaged, is not
    finished. Runs that were trained further than requested are finished; their folders are not changed.

    notify   called with one line per deviation from the request
    """
    notes: Notes = {}
    left = []
    for id, config in wanted.items():
        try:
            if _finished(Path(runs) / id, config, lambda text, id=id: notes.setdefault(text, []).append(id)):  # type: ignore[misc]
                continue
        except GrokscopeError:
            pass  # busy or damaged: raised again when it is opened for training, and does not stop the others
        left.append(id)
    print_notes(notes, notify)
    return left


def finished_as_requested(path: Path, config: RunConfig) -> bool:
    """Whether a run is finished that was begun with just these settings. Nothing is opened or repaired."""
    info = read_run(path)
    reached = info.status in FINISHED and (info.status != "done" or info.epoch >= config.epochs)
    return reached and not _changed(info, config)


def _changed(info: RunInfo, config: RunConfig) -> list[str]:
    stored = read_stored(info.config, info.id)
    return [name for name in WATCHED if getattr(stored, name) != getattr(config, name)]


def _finished(path: Path, config: RunConfig, note: Callable[[str], object]) -> bool:
    if not path.exists():
        return False
    if finished_as_requested(path, config):
        return True
    info = read_run(path)
    changed = _changed(info, config)
    if info.status in FINISHED:
        found = replay(config, judged_rows(read_metrics(info)), branched_at(info.manifest))
        if found.status is not None:
            if info.epoch > min(found.epoch, config.epochs):
                note("trained further than requested, returned as stored")
            if "log" in changed:
                note("finished with other log settings; its rows and checkpoints are not changed")
            return True
        note(f"finished before, now continued to epoch {config.epochs}")
    with RunFolder.create_or_open(
        path.parent, path.name, config.to_dict(), device="", identity=RunConfig.identity_of
    ) as folder:
        if settle(folder, config, replay(config, judged_rows(folder.metrics()), branched_at(folder.manifest))):
            return True
    if "log" in changed:
        note("its log settings changed; existing rows and checkpoints are not changed")
    return False
