"""The leaderboard of a track, from stored results: one row per method, the earliest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.location import median_interval
from ..analysis.pairs import time_ratio
from ..analysis.shares import share_interval
from ..experiments.clocks import Clock, NotRunError, paired, times
from ..store.results import load_results
from ..store.tuned import load_tuned
from .clocks import FIRST, FIRST_FLOPS, FIRST_SECONDS, STABLE
from .methods.base import Method, accelerators, methods_on

if TYPE_CHECKING:
    from ..store.results import Results
    from .tracks.base import Scale, Track

BASELINE = "AdamW"

Interval = tuple[float, float, float]
"""A median with the ends of its 95 % interval; infinite where runs do not reach."""
UNKNOWN: Interval = (np.nan, np.nan, np.nan)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One method on a track."""

    method: str
    """Its name in the registry."""
    title: str
    seeds: int
    reached: int
    """Seeds that reach 99 %."""
    share: tuple[float, float]
    """95 % interval of the share that reaches (Clopper & Pearson)."""
    first: Interval
    """Steps to the first crossing, median over seeds."""
    lasting: int
    """Seeds whose 99 % lasts."""
    stable: Interval
    """Steps from which it lasts."""
    seconds: Interval
    """The first crossing in seconds of a run alone on the device."""
    flops: Interval
    """The first crossing in floating-point operations of matrix products."""
    ratio: Interval
    """Steps of the first crossing over those of tuned AdamW, paired by seed, where both reach."""
    settings: Mapping[str, Any]
    """What tuning has chosen."""
    tuning_steps: int | None
    """Run-steps that tuning took; none where it is not known."""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Board:
    """The leaderboard of a track."""

    track: str
    title: str
    about: str
    scale: Scale
    device: str
    rows: tuple[Row, ...]
    excluded: Mapping[str, str]
    """Why a method does not apply, by name."""

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "rows": [row.to_dict() for row in self.rows], "excluded": dict(self.excluded)}


def board_of(track: Track, results: Path, scale: Scale) -> Board | None:
    """The leaderboard of stored results; None if the track was not run."""
    stored = load_results(results, track.experiment, scale)
    if stored is None:
        return None
    _, excluded = methods_on(track.base(scale))
    rows = ranked(stored, load_tuned(results, track.experiment, scale))
    return Board(
        track=track.kind,
        title=track.title,
        about=(type(track).__doc__ or "").strip().splitlines()[0],
        scale=scale,
        device=stored.about.get("device", ""),
        rows=tuple(rows),
        excluded=excluded,
    )


def ranked(results: Results, tuned: Mapping[str, Any]) -> list[Row]:
    """The rows of a leaderboard: by the median of the first crossing, then by the number of seeds that reach."""
    every = {cls.title: cls() for _, cls in sorted(accelerators.entries().items())}
    arms = list(dict.fromkeys(results.runs["arm"]))
    rows = [_row(results, arm, every.get(arm), tuned) for arm in arms]
    return sorted(rows, key=lambda row: (row.first[0], -row.reached, row.stable[0], row.title))


def _row(results: Results, arm: str, method: Method | None, tuned: Mapping[str, Any]) -> Row:
    runs = results.runs
    first = times(runs, arm, FIRST)
    reached, seeds = int(first.grokked.sum()), len(first.time)
    name = method.kind if method else arm
    source = method.inherits or name if method else name
    entry = tuned.get(source, {})
    note = "; ".join(filter(None, (entry.get("note", ""), _edges(method, entry.get("settings", {})))))
    if method and method.inherits:
        note = f"settings of {method.inherits}, not tuned itself"
    return Row(
        method=name,
        title=arm,
        seeds=seeds,
        reached=reached,
        share=share_interval(reached, seeds),
        first=_median(results, arm, FIRST),
        lasting=int(times(runs, arm, STABLE).grokked.sum()),
        stable=_median(results, arm, STABLE),
        seconds=_median(results, arm, FIRST_SECONDS),
        flops=_median(results, arm, FIRST_FLOPS),
        ratio=_ratio(results, arm),
        settings=entry.get("settings", {}),
        tuning_steps=entry.get("run_steps"),
        note=note,
    )


def _edges(method: Method | None, settings: Mapping[str, Any]) -> str:
    """Which of the chosen settings lie at the edge of their ranges: better ones may lie beyond."""
    space = method.space if method else {}
    found = [name for name, own in space.items() if name in settings and own.is_edge(settings[name])]
    return f"at the edge of its range: {', '.join(found)}" if found else ""


def _median(results: Results, arm: str, clock: Clock) -> Interval:
    try:
        own = times(results.runs, arm, clock)
    except NotRunError:
        return UNKNOWN
    return median_interval(np.where(own.grokked, own.time, np.inf))


def _ratio(results: Results, arm: str) -> Interval:
    if arm == BASELINE:
        return (1.0, 1.0, 1.0)
    try:
        own, other = paired(results.runs, (arm, BASELINE), FIRST)
    except NotRunError:
        return UNKNOWN
    if not (own.grokked & other.grokked).any():
        return UNKNOWN
    return time_ratio(own, other)[:3]
