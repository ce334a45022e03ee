"""The view of a page, frozen: the report page about the runs that it shows, which works without a server."""

from __future__ import annotations

import shlex
import sys
from threading import Lock

from ..errors import ConfigError
from .board import Board
from .choice import Choice

_drawing = Lock()
"""Matplotlib's settings are global: one report at a time."""


def frozen(board: Board, choice: Choice) -> str:
    """The report as HTML; its command writes it again. ConfigError if no run in view has saved a row."""
    from ..report.runs import build_page

    with board.lock:
        everything = [run for run in board.runs.values() if not run.info.problem]
        chosen = [run for run in everything if choice.selects(run)]
        runs = [run.info for run in chosen if run.info.summary]
    if not runs:
        raise ConfigError("view", "no run in view has saved a row yet; runs are saved every 20 seconds")
    words = ["grokscope", "report", "--runs", str(board.folder)]
    if choice.status or choice.text or any(name not in run.settings for run in everything for name in choice.where):
        words += [run.id for run in runs]  # what --where cannot express
    else:
        words += [word for name, value in choice.where.items() for word in ("--where", f"{name}={value}")]
    with _drawing:
        built = build_page(runs, command=shlex.join(words), title="Grokking runs, as seen live")
    for note in built.notes:
        print(note, file=sys.stderr)
    return built.html
