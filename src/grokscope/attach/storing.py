"""A watched run on disk: its rows, saved now and then, in a folder that every command reads."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..analysis import summary_of
from ..config.watched import watched_id
from ..errors import StoreError
from ..store import RunFolder, RunInfo, delete_runs, is_held, read_run

SAVE_EVERY = 20.0
"""Seconds between saves, as in a fleet."""
APPEND_EVERY = 0.5
"""Least seconds between two appends of rows for those who watch."""

Row = dict[str, float]


class Stored:
    """The run folder of one scope."""

    def __init__(self, runs: str | Path, config: Mapping[str, Any], *, device: str, again: bool = False):
        """again   replace a stored run with the same settings"""
        self.id = watched_id(config)
        self.path = Path(runs) / self.id
        if self.path.exists() and again:
            delete_runs([self.path])
        if self.path.exists() and not is_held(self.path):
            raise StoreError(
                f"run {self.id} ({config['name']}) is stored in {runs} already: again=True replaces it, another name= or seed= "
                f"makes another run"
            )
        self.folder = RunFolder.create_or_open(runs, self.id, config, device=device)
        self._unsaved: list[Row] = []
        self._history: list[Row] = []
        self._unseen: list[Row] = []
        self._appended_at = self._saved_at = time.monotonic()

    def add(self, row: Row) -> None:
        self._unsaved.append(row)
        self._unseen.append(row)
        now = time.monotonic()
        if now - self._appended_at > APPEND_EVERY:
            self._unseen, rows, self._appended_at = [], self._unseen, now
            with suppress(OSError):  # the next save names the problem
                self.folder.append(rows)
        if now - self._saved_at > SAVE_EVERY:
            self.save()

    def save(self, status: str = "running") -> None:
        """Write the rows since the last save. A watched run has no weights to continue from."""
        if not self._unsaved and status == "running":
            return
        history = [*self._history, *self._unsaved]
        if history:
            last = history[-1]
            self.folder.save(
                int(last["epoch"]),
                self._unsaved,
                {},
                {},
                self._summary(history),
                status=status,
                seconds=last["seconds"],
            )
        self._history, self._unsaved, self._saved_at = history, [], time.monotonic()

    def finish(self, error: BaseException | None = None) -> None:
        """Save everything and close the folder; after an error the run has failed, after an interrupt it has stopped."""
        try:
            if error is None:
                self.save(_outcome([*self._history, *self._unsaved]))
            elif isinstance(error, Exception):
                self.save()
                self.folder.fail(" ".join(f"{type(error).__name__}: {error}".split()))
            else:
                self.save("stopped")
        finally:
            self.folder.close()

    def info(self) -> RunInfo:
        return read_run(self.path)

    def _summary(self, history: list[Row]) -> dict[str, Any]:
        import pandas as pd

        names = ("train_accuracy", "test_accuracy")
        table = pd.DataFrame([{key: row[key] for key in ("epoch", "seconds", *names)} for row in history])
        return summary_of(table) | {name: history[-1][name] for name in names}


def _outcome(history: list[Row]) -> str:
    """The status of a run that ended by itself."""
    import pandas as pd

    if not history:
        return "done"
    if not math.isfinite(history[-1]["train_loss"]) and any(math.isfinite(row["train_loss"]) for row in history):
        return "diverged"
    keys = ("epoch", "seconds", "train_accuracy", "test_accuracy")
    times = summary_of(pd.DataFrame([{key: row[key] for key in keys} for row in history]))
    return "done" if times["t_grok"] is None else "grokked"
