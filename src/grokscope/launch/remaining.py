"""Which of the runs that are asked for have something left to train, given what is stored of them.

The last epoch, the stop rule and the log are no part of a run's id: a stored run may have been trained further than it is asked
for now, or not far enough. The stop rules are therefore replayed on its stored rows, as if they had been in force all the time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..config import RunConfig, read_stored
from ..fleet.rules import Row, Rules
from ..store import FINISHED, RunFolder, read_metrics, read_run

if TYPE_CHECKING:
    import pyarrow as pa

WATCHED = ("epochs", "log", "stop")
"""Settings that may differ between what is stored and what is asked for."""


class Replay(NamedTuple):
    """What the stop rules of a config make of stored rows."""

    status: str | None
    """done, grokked or diverged where the run would have ended; None where it goes on."""
    epoch: int
    """Where it would have ended, or the last row's."""
    held_since: int | None
    """First evaluation since which test accuracy has stayed at the stop rule's level; what `Rules` remembers."""


def replay(config: RunConfig, rows: Iterable[Row]) -> Replay:
    """Judge stored rows in their order, up to the one that ends the run."""
    rules, status, epoch = Rules(config), None, 0
    for row in rows:
        epoch, status = int(row["epoch"]), rules.judge(row)
        if status is not None:
            break
    return Replay(status, epoch, rules.held_since)


def judged_rows(table: pa.Table) -> list[Row]:
    """The columns of a metric table that the stop rules read, row by row."""
    rows: list[Row] = table.select(
        [c for c in ("epoch", "train_loss", "test_accuracy") if c in table.column_names]
    ).to_pylist()
    return rows


Notes = dict[str, list[str]]
"""What a user should know of runs, and of which runs (ids)."""


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def print_notes(notes: Notes, say: Callable[[str], None] = _say) -> None:
    """One line per note."""
    for text, ids in notes.items():
        shown = ", ".join(ids[:4]) + (", …" if len(ids) > 4 else "")
        say(f"run {shown}: {text}" if len(ids) == 1 else f"{len(ids)} runs ({shown}): {text}")


def remaining(wanted: Mapping[str, RunConfig], runs: str | Path, say: Callable[[str], None] = _say) -> list[str]:
    """The ids of `wanted` that are not finished as they are asked for now.

    Opening an unfinished run repairs what a kill left half done, and fails before anything is trained if another process has
    it. Runs that are trained further than they are asked for are finished; their folders are left as they are.

    say   is given what is not as asked, one line per case
    """
    notes: Notes = {}
    left = [
        id
        for id, config in wanted.items()
        if not _finished(Path(runs) / id, config, lambda text, id=id: notes.setdefault(text, []).append(id))  # type: ignore[misc]
    ]
    print_notes(notes, say)
    return left


def _finished(path: Path, config: RunConfig, note: Callable[[str], object]) -> bool:
    if not path.exists():
        return False
    info = read_run(path)
    stored = read_stored(info.config, info.id)
    changed = [name for name in WATCHED if getattr(stored, name) != getattr(config, name)]
    if info.status in FINISHED:
        if not changed and (info.status != "done" or info.epoch >= config.epochs):
            return True
        found = replay(config, judged_rows(read_metrics(info)))
        if found.status is not None:
            if info.epoch > min(found.epoch, config.epochs):
                note("trained further than asked for, returned as stored")
            if "log" in changed:
                note("finished with other log settings; its rows and checkpoints stay as they are")
            return True
        note(f"finished before, now continued to epoch {config.epochs}")
    with RunFolder.create_or_open(
        path.parent, path.name, config.to_dict(), device="", identity=RunConfig.identity_of
    ) as folder:
        if folder.state.finished:
            return True
        status = replay(config, judged_rows(folder.metrics())).status
        if status is None and folder.state.epoch >= config.epochs:
            status = "done"
        if status is not None:
            folder.finish(status)
            return True
    if "log" in changed:
        note("its log settings changed; rows and checkpoints so far stay as they are")
    return False
