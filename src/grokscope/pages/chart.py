"""Curves as data: what an interactive chart of a page shows, and the still picture that takes its place without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One curve on the common epochs of its chart; NaN where it has no value."""

    arm: str
    """Whose curve it is: it decides the colour and the entry of the legend."""
    colour: str
    """#rrggbb"""
    y: Values
    kind: str = ""
    """Which metric it is, e.g. test."""
    seed: int | None = None
    """Of the run, where runs of an arm are drawn separately."""
    dashes: Sequence[float] = ()
    """Of the arm, where it shares its colour with another."""
    minor: bool = False
    """Whether it is drawn thin and dotted: the second metric of a panel."""
    low: Values | None = None
    """Lower and upper quartile of the seeds, where the curve is a median."""
    high: Values | None = None


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes."""

    label: str
    """What is on the vertical axis."""
    lines: Sequence[Line]
    log: bool = False
    percent: bool = False
    """Fractions, written in per cent, on an axis from 0 to 1."""
    fraction: bool = False
    """Fractions, written as they are, on such an axis."""


@dataclass(frozen=True, kw_only=True)
class Strip:
    """The phases of an arm, as a strip above the first panel."""

    arm: str
    colour: str
    phases: Sequence[tuple[str, float, float]]
    """Name, first and last epoch of each."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Panels over common epochs, on a log axis."""

    x: Values
    panels: Sequence[Panel]
    arms: Sequence[tuple[str, str, Sequence[float]]]
    """Name, colour and dashes of each arm, in order."""
    strips: Sequence[Strip] = ()
    phases: Sequence[tuple[str, str]] = ()
    """Name and colour of the phases that the strips show."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON: numbers rounded to four digits, null for what is missing."""
        return {
            "x": rounded(self.x, 6),
            "arms": [{"name": name, "colour": colour, "dashes": list(dashes)} for name, colour, dashes in self.arms],
            "panels": [
                {
                    "label": panel.label,
                    "log": panel.log,
                    "percent": panel.percent,
                    "fraction": panel.fraction,
                    "lines": [_line(line) for line in panel.lines],
                }
                for panel in self.panels
            ],
            "strips": [{"arm": s.arm, "colour": s.colour, "phases": [list(p) for p in s.phases]} for s in self.strips],
            "phases": [{"name": name, "colour": colour} for name, colour in self.phases],
        }


def _line(line: Line) -> dict[str, Any]:
    own: dict[str, Any] = {"arm": line.arm, "colour": line.colour, "kind": line.kind, "minor": line.minor}
    own["y"] = rounded(line.y)
    if line.dashes:
        own["dashes"] = list(line.dashes)
    if line.seed is not None:
        own["seed"] = line.seed
    if line.low is not None and line.high is not None:
        own |= {"low": rounded(line.low), "high": rounded(line.high)}
    return own


def rounded(values: Values, digits: int = 4) -> list[float | int | None]:
    """Numbers with so many significant digits, whole ones as integers."""
    finite = np.isfinite(values)
    size = np.floor(np.log10(np.abs(np.where(finite & (values != 0), values, 1.0))))
    scale = 10.0 ** np.clip(digits - 1 - size, -300, 300)
    with np.errstate(invalid="ignore"):
        short = np.round(values * scale) / scale
    return [None if not ok else int(v) if v == int(v) else v for v, ok in zip(short.tolist(), finite, strict=True)]
