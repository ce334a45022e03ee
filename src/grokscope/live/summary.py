"""The table of runs and what stands above it, as plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..analysis import DEFAULT
from ..conditions import SILENT
from .board import Board
from .choice import natural, setting_of, status_group
from .run import LiveRun

MOST_VALUES = 30
"""Values of a setting that can be chosen from."""


def head(board: Board, chosen: Sequence[LiveRun]) -> dict[str, Any]:
    """How many runs there are by status and phase, how fast they train, and how long it takes at most."""
    statuses = Counter(status_group(run.info.status) for run in chosen)
    training = [run for run in chosen if run.info.status == "running"]
    left = [seconds for run in training if (seconds := run.seconds_left) is not None]
    return {
        "runs": len(chosen),
        "of": len(board.runs),
        "unread": board.unread,
        "problem": board.problem,
        "statuses": dict(statuses),
        "phases": dict(Counter(run.phase for run in chosen if run.phase)),
        "speed": _short(sum(run.speed or 0.0 for run in training)),
        "left": round(max(left)) if left else None,
        "criterion": DEFAULT.describe(),
    }


def row(run: LiveRun) -> dict[str, Any]:
    info, phases = run.info, run.phases
    return {
        "condition": run.condition,
        "seed": info.config.get("seed"),
        "status": info.status,
        "problem": info.problem or info.reason,
        "epoch": run.epoch,
        "epochs": run.epochs,
        "train": _short(run.last("train_accuracy")),
        "test": _short(run.last("test_accuracy")),
        "phase": run.phase,
        "t_mem": phases.t_mem if phases else None,
        "t_grok": phases.t_grok if phases else None,
        "speed": _short(run.speed),
        "left": None if run.seconds_left is None else round(run.seconds_left),
    }


def order(run: LiveRun) -> tuple[object, ...]:
    """Running first, then failed ones, then the others; each in order of creation."""
    first = {"running": 0, "failed": 1, "damaged": 1}.get(run.info.status, 2)
    return first, run.info.manifest.get("created", ""), run.info.id


def filters(runs: Iterable[LiveRun]) -> dict[str, list[str]]:
    """Settings in which the runs differ, seeds aside, with their values."""
    known = [run for run in runs if run.settings]
    names = dict.fromkeys(name for run in known for name in run.settings)
    values = {name: {setting_of(run, name) for run in known} for name in names if name not in SILENT}
    return {name: sorted(found, key=natural) for name, found in values.items() if 1 < len(found) <= MOST_VALUES}


def outcome(members: Sequence[LiveRun]) -> str:
    """How many grokked, and the median epoch of those that have."""
    times = [run.phases.t_grok for run in members if run.phases and run.phases.t_grok is not None]
    if not times:
        return "none has grokked" if len(members) > 1 else "not grokked"
    middle = f"epoch {int(np.median(times)):,}"
    return f"grokked at {middle}" if len(members) == 1 else f"{len(times)} of {len(members)} grokked, median {middle}"


def _short(value: float | None) -> float | None:
    """Four digits; None for what is not finite."""
    return float(f"{value:.4g}") if value is not None and math.isfinite(value) else None
