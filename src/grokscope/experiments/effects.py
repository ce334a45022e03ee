"""Effects with their 95 % intervals as small pictures: one row per case, on a scale that the rows of a claim share."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

WIDTH, EDGE = 240, 8
"""Size of the picture of one row, and the space left at its ends, in pixels."""
RATIOS = re.compile(r"^(?!.*log10).*(ratio|largest measured/bound|τ_grok)")
"""Names of effects that are ratios: drawn on a log scale, no effect is 1. An interval that begins at 0 is not bounded there."""
TIMES = re.compile(r"^median of")
"""Names of effects that are times: drawn on a log scale, too."""
DIFFERENCES = re.compile(r"^(difference|mean of gain|Spearman|mean of rank correlation|mean of log10 change)")
"""Names of effects for which no effect is 0."""
AT_THE_EDGE = ", at the edge of the grid"
"""Ends the name of an effect that was searched for on a grid and found at its end; it has the scale of the others."""
Range = tuple[float, float]


class EffectAxis(NamedTuple):
    """A horizontal scale for the effects of one name."""

    low: float
    high: float
    log: bool
    none: float | None
    """The value of no effect, if there is one."""
    marked: tuple[float, ...] = ()
    """Ends of the range that is asked for, as far as they are on the scale."""

    def place(self, value: float) -> float:
        """Pixels from the left."""
        low, high, own = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return EDGE + (WIDTH - 2 * EDGE) * min(1.0, max(0.0, (own - low) / (high - low)))


def effect_axis(effects: Sequence[Mapping[str, Any]], asked: Sequence[Range] = ()) -> EffectAxis | None:
    """A scale on which all of them fit, with the line of no effect and the ranges asked for (of wide ones the nearer ends);
    None where nothing is known. The effects have one name."""
    if not effects:
        return None
    name = effects[0]["name"]
    ratio = bool(RATIOS.search(name))
    log = ratio or bool(TIMES.search(name))
    known = [
        e[end] for e in effects for end in ("low", "value", "high") if e[end] is not None and (e[end] > 0 or not log)
    ]
    if known:
        centre = sorted(known)[len(known) // 2]
        spread = max(known) - min(known)
        for own in asked:
            if not log and own[1] - own[0] <= spread:  # it takes no more room than the effects do
                known += own
            else:
                known.append(min((end for end in own if end > 0 or not log), key=lambda end: abs(end - centre)))
    none = 1.0 if ratio else 0.0 if DIFFERENCES.search(name) else None
    known += [none] if none is not None else []
    if len(known) < 2:
        return None
    low, high = min(known), max(known)
    ends = asked[0] if len(set(asked)) == 1 else ()
    marked = tuple(end for end in ends if low <= end <= high)
    if name.startswith("share") or ("accuracy" in name and none is None):
        low, high = 0.0, max(1.0, high)
    if log:
        room = max(math.log(high / low), 0.2) * 0.06
        return EffectAxis(low * math.exp(-room), high * math.exp(room), True, none, marked)
    room = max(high - low, 1e-9 + 0.02 * abs(high)) * 0.06
    return EffectAxis(low - room, high + room, False, none, marked)


def effect_svg(effect: Mapping[str, Any], axis: EffectAxis, asked: Range | None = None) -> Markup:
    """The interval as a line, the value as a dot, the line of no effect, the range that is asked for; an arrow where an end of the
    interval is not bounded. The numbers stand beside it as text."""
    parts = []
    if asked is not None:
        from_, to = (axis.place(max(end, axis.low) if axis.log else end) for end in asked)
        parts.append(f'<path class="asked" d="M{from_:.1f} 0H{to:.1f}v18H{from_:.1f}z"/>')
    if axis.none is not None:
        x = axis.place(axis.none)
        parts.append(f'<path class="none" d="M{x:.1f} 0v18"/>')
    low, value, high = effect["low"], effect["value"], effect["high"]
    low = None if axis.log and low == 0 else low
    left = EDGE / 2 if low is None else axis.place(low)
    right = WIDTH - EDGE / 2 if high is None else axis.place(high)
    parts.append(f'<path class="range" d="M{left:.1f} 9H{right:.1f}"/>')
    if low is None:
        parts.append('<path class="range" d="m6 5-4 4 4 4"/>')
    if high is None:
        parts.append(f'<path class="range" d="m{WIDTH - 6} 5 4 4-4 4"/>')
    if value is not None:
        parts.append(f'<circle cx="{axis.place(value):.1f}" cy="9" r="4"/>')
    return Markup(f'<svg class="effect" viewBox="0 0 {WIDTH} 18" aria-hidden="true">{"".join(parts)}</svg>')


def axis_svg(axis: EffectAxis) -> Markup:
    """Ticks under the rows; bold where there is no effect."""
    parts = []
    for value in axis_ticks(axis):
        x = axis.place(value)
        weight = ' class="none"' if value == axis.none else ""
        parts.append(
            f'<path d="M{x:.1f} 0v4"/><text x="{x:.1f}" y="15" text-anchor="middle"{weight}>{value:.3g}</text>'
        )
    return Markup(f'<svg class="axis" viewBox="0 0 {WIDTH} 18" aria-hidden="true">{"".join(parts)}</svg>')


def axis_ticks(axis: EffectAxis) -> list[float]:
    """No effect, the ends of what is asked for, and few round numbers; none so near to an end that its label is cut."""
    if axis.log:
        steps = (1, 2, 5) if math.log10(axis.high / axis.low) < 1.4 else (1,)
        powers = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
        found = [float(f"{step}e{power}") for power in powers for step in steps]
    else:
        raw = (axis.high - axis.low) / 4
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(f * power for f in (1, 2, 5, 10) if f * power >= raw * 0.999)
        first = math.ceil(axis.low / step)
        found = [float(f"{step * k:.10g}") for k in range(first, math.floor(axis.high / step) + 1)]
    inside = [x for x in found if axis.low <= x <= axis.high and 14 <= axis.place(x) <= WIDTH - 14]
    if axis.none is not None and axis.none not in inside:
        inside.append(axis.none)
    kept: list[float] = [axis.none] if axis.none is not None else []
    for x in (*axis.marked, *inside):
        if all(abs(axis.place(x) - axis.place(other)) > 30 for other in kept):
            kept.append(x)
    return sorted(kept)
