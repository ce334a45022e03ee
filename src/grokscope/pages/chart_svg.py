"""A chart as a still SVG: what is printed, saved, and shown where scripts are off."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

import numpy as np

from .chart import Chart, Line, Panel, Values
from .slim import simplified

WIDTH, LEFT, RIGHT, TOP = 760, 62, 14, 20
FIRST, OTHERS, GAP = 250, 180, 46
"""Heights of the first and the other panels, and the space between them."""
ROW, STRIP, LETTER = 20, 9, 6.4
SOFT, GRID = "#585e66", "#e6e8eb"
MAJOR = 'stroke-width="1.8"'
MINOR = 'stroke-width="1.2" stroke-opacity=".8" stroke-dasharray="1.5 3"'
Scale = Callable[[Values], Values]


def chart_svg(chart: Chart) -> str:
    """The chart as an `<svg>` element, legend included."""
    parts: list[str] = []
    y = _legend(chart, parts)
    for number, panel in enumerate(chart.panels):
        y += TOP + (STRIP * len(chart.strips) + 6 if number == 0 else 0)
        height = OTHERS if number else FIRST
        last = number == len(chart.panels) - 1
        if number == 0:
            _strips(chart, parts, y)
        _panel(chart, panel, parts, y, height, last)
        y += height + (GAP if last else 14)
    attributes = (
        f'viewBox="0 0 {WIDTH} {y:.0f}" width="{WIDTH}" height="{y:.0f}" font-size="12" fill="none" '
        'stroke-linejoin="round" font-family="system-ui, Liberation Sans, Arial, sans-serif"'
    )
    return f"<svg {attributes}>{''.join(parts)}</svg>"


def _legend(chart: Chart, parts: list[str]) -> float:
    """Entries in lines from the top; returns where they end."""
    named = [panel for panel in chart.panels if len({line.kind for line in panel.lines}) > 1]
    kinds = {line.kind: line.minor for panel in named for line in panel.lines}
    entries = [(name, f'stroke="{colour}" stroke-width="2.4"{_dashes(dashes)}') for name, colour, dashes in chart.arms]
    entries += [(kind, f'stroke="{SOFT}" {MINOR if minor else MAJOR}') for kind, minor in kinds.items()]
    if any(line.low is not None for panel in chart.panels for line in panel.lines):
        entries.append(("middle half of seeds", f'stroke="{SOFT}" stroke-opacity=".25" stroke-width="9"'))
    entries += [(name, f'stroke="{colour}" stroke-width="9"') for name, colour in chart.phases]
    x, y = float(LEFT), 12.0
    for name, style in entries:
        width = 34 + LETTER * len(name)
        if x > LEFT and x + width > WIDTH - RIGHT:
            x, y = float(LEFT), y + ROW
        parts.append(f'<path d="M{x:.0f} {y - 4:.0f}h22" {style}/>{_text(x + 28, y, name, "start", "#1b1d20")}')
        x += width + 14
    return y


def _dashes(dashes: Sequence[float]) -> str:
    return f' stroke-dasharray="{" ".join(f"{part:g}" for part in dashes)}"' if dashes else ""


def _text(x: float, y: float, text: str, anchor: str = "middle", colour: str = SOFT) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def _strips(chart: Chart, parts: list[str], top: float) -> None:
    place = _scale(chart.x[0], chart.x[-1], LEFT, WIDTH - RIGHT, log=True)
    colours = dict(chart.phases)
    for row, strip in enumerate(chart.strips):
        y = top - (len(chart.strips) - row) * STRIP - 2
        parts.append(f'<path d="M{LEFT - 7} {y}h4v7h-4z" fill="{strip.colour}"/>')
        for name, start, end in strip.phases:
            left, right = place(np.clip(np.array([start, end], dtype=float), chart.x[0], chart.x[-1]))
            if right > left:
                parts.append(f'<path d="M{left:.1f} {y}H{right:.1f}v7H{left:.1f}z" fill="{colours[name]}"/>')


def _panel(chart: Chart, panel: Panel, parts: list[str], top: float, height: float, last: bool) -> None:
    low, high = value_range(panel)
    across = _scale(chart.x[0], chart.x[-1], LEFT, WIDTH - RIGHT, log=True)
    up = _scale(low, high, top + height, top, log=panel.log)
    for tick in log_ticks(chart.x[0], chart.x[-1], 9):
        x = float(across(np.array([tick]))[0])
        parts.append(f'<path d="M{x:.1f} {top}v{height}" stroke="{GRID}"/>')
        if last:
            parts.append(_text(x, top + height + 17, short_number(tick)))
    for tick in log_ticks(low, high, 6) if panel.log else linear_ticks(low, high):
        y = float(up(np.array([tick]))[0])
        label = f"{round(100 * tick)} %" if panel.percent else short_number(tick)
        parts.append(
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>{_text(LEFT - 7, y + 4, label, "end")}'
        )
    middle = top + height / 2
    parts.append(f'<g transform="rotate(-90 13 {middle:.0f})">{_text(13, middle, panel.label)}</g>')
    if last:
        parts.append(_text((LEFT + WIDTH - RIGHT) / 2, top + height + 36, "epoch"))
    for line in panel.lines:
        parts.append(_band(chart.x, line, across, up, panel.log))
    for line in panel.lines:
        style = MINOR if line.minor else MAJOR + _dashes(line.dashes)
        for points in _pieces(chart.x, line.y, across, up, panel.log):
            if len(points) == 1:  # a path of one point is not seen
                parts.append(f'<circle cx="{points[0, 0]:.1f}" cy="{points[0, 1]:.1f}" r="3" fill="{line.colour}"/>')
            else:
                parts.append(f'<path d="M{_points(points)}" stroke="{line.colour}" {style}/>')


def _band(x: Values, line: Line, across: Scale, up: Scale, log: bool) -> str:
    if line.low is None or line.high is None or line.minor:
        return ""
    known = np.isfinite(line.low) & np.isfinite(line.high) & ((line.low > 0) | (not log))
    if not known.any():
        return ""
    edges = [simplified(np.column_stack([across(x[known]), up(edge[known])])) for edge in (line.low, line.high)]
    return (
        f'<path d="M{_points(np.concatenate([edges[0], edges[1][::-1]]))}z" fill="{line.colour}" fill-opacity=".15"/>'
    )


def _pieces(x: Values, y: Values, across: Scale, up: Scale, log: bool) -> Iterator[Values]:
    """The known points of a curve; gaps within it are bridged, as on the screen."""
    known = np.isfinite(y) & ((y > 0) | (not log))
    if known.any():
        yield simplified(np.column_stack([across(x[known]), up(y[known])]))


def _points(points: Values) -> str:
    return " ".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _scale(low: float, high: float, start: float, end: float, *, log: bool) -> Scale:
    def place(values: Values) -> Values:
        change = np.log if log else np.asarray
        share = (change(values) - change(low)) / max(float(change(high) - change(low)), 1e-12)
        return start + (end - start) * share

    return place


def value_range(panel: Panel) -> tuple[float, float]:
    """The range of the vertical axis, as on the screen."""
    drawn = [own for line in panel.lines for own in (line.y, line.low, line.high) if own is not None]
    values = np.concatenate(drawn) if drawn else np.empty(0)
    values = values[np.isfinite(values) & ((values > 0) | (not panel.log))]
    if not len(values):
        return (0.1, 1.0) if panel.log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if panel.percent or panel.fraction:
        return 0.0, max(1.03, high)
    if panel.log:
        return (low / 2, high * 2) if low == high else (low * 0.8, high * 1.25)
    return min(0.0, low * 1.06), high * 1.06 or 1.0


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten, and 2 and 5 times these where they are few."""
    decades = math.log10(high / low)
    every = max(1, math.ceil(decades / most))
    steps: Sequence[float] = (1,) if decades > most / 2 else (1, 3) if decades > most / 4 else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [step * 10.0**power for power in powers if power % every == 0 for step in (steps if every == 1 else (1,))]
    return [tick for tick in found if low * 0.999 <= tick <= high * 1.001]


def linear_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten."""
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def short_number(value: float) -> str:
    """0.25, 300, 5k, 1M, 10⁻⁴."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    if 0 < abs(value) < 1e-3:
        mantissa, power = f"{value:.0e}".split("e")
        digits = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"10{digits}" if mantissa == "1" else f"{mantissa}·10{digits}"
    return f"{value:.3g}"
