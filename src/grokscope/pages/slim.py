"""SVG of matplotlib made small enough to be part of a page: a tenth of its size, the same picture.

Coordinates are rounded to a tenth of a point and written relative to the point before; polylines lose the points that lie within
`TOLERANCE` of the line without them (Ramer 1972; Douglas & Peucker 1973); wrappers, white backgrounds and ids that nothing refers
to go; neighbouring lines of one style become one path. Text stays text, so that it can be selected, searched and read aloud.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import count

import numpy as np
from numpy.typing import NDArray

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
TOLERANCE = 0.3
"""Points (1/72 inch): less than half a pixel on a screen."""
FONT = re.compile(r"font: (?:(\w+) )?(?:(\w+) )?([\d.]+)px [^;]*")
NEVER = {"stroke-dashoffset": "0", "stroke-linejoin": "round", "stroke-miterlimit": "", "white-space": "pre"}
"""Properties that are dropped where they have this value (any, if empty)."""


def slim(svg: str, prefix: str) -> str:
    """The picture as an `<svg>` element for an HTML page; `prefix` makes its ids unique there."""
    # the document type would be parsed as well: matplotlib writes no entities
    root = ET.fromstring(svg[svg.index("<svg") :])
    _drop(root)
    _attributes(root)
    _unwrap(root)
    _merge(root)
    _rename(root, prefix)
    box = root.get("viewBox") or ""
    root.attrib = {"viewBox": box, "stroke-linejoin": "round", "font-family": "DejaVu Sans, Verdana, sans-serif"}
    text = ET.tostring(root, encoding="unicode")
    text = re.sub(r' xmlns:?\w*="[^"]*"', "", text)
    text = re.sub(r"(</?)ns\d+:", r"\1", text)
    return re.sub(r"\bns\d+:href=", "href=", text)


def _drop(root: ET.Element) -> None:
    """Remove metadata, styles, and the white rectangles behind the figure and its panels."""
    for parent in list(root.iter()):
        for child in list(parent):
            tag = child.tag.removeprefix(SVG)
            if tag == "metadata" or (tag == "defs" and len(child) and child[0].tag == f"{SVG}style"):
                parent.remove(child)
    for group in root.iter(f"{SVG}g"):
        name = group.get("id", "")
        if name.startswith(("figure_", "axes_")) and len(group):
            first = group[0]
            if first.get("id", "").startswith("patch_") and "fill: #ffffff" in first[0].get("style", ""):
                group.remove(first)


def _attributes(root: ET.Element) -> None:
    """Styles as attributes, numbers short, paths relative and simplified."""
    for element in root.iter():
        element.text = (element.text or "").strip() or None if element.tag != f"{SVG}text" else element.text
        element.tail = None if element.tag != f"{SVG}tspan" else element.tail
        style = element.attrib.pop("style", "")
        if font := FONT.search(style):
            style = style.replace(font[0], f"font-size: {font[3]}")
            for word in (font[1], font[2]):
                if word in ("bold", "italic"):
                    element.set("font-weight" if word == "bold" else "font-style", word)
        for entry in filter(None, (part.strip() for part in style.split(";"))):
            name, _, value = (part.strip() for part in entry.partition(":"))
            if name in NEVER and NEVER[name] in ("", value) or (name == "font-family"):
                continue
            element.set(name, _numbers(value.removesuffix("px")))
        if element.get("d"):
            element.set("d", short_path(element.get("d", "")))
        for name in ("x", "y", "transform", "width", "height"):
            if element.get(name) and element is not root:
                element.set(name, _numbers(element.get(name, "")))


def _numbers(text: str) -> str:
    """Numbers with at most two decimals; colours and names as they are."""
    if text.startswith(("#", "url")):
        return text
    return re.sub(r"-?\d+\.\d+", lambda found: _short(float(found[0])), text)


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".").replace("-0.", "-.").removesuffix("-0") or "0"


def short_path(path: str) -> str:
    """A path with relative coordinates; polylines simplified."""
    parts = re.findall(r"([MLCQZz])([^MLCQZz]*)", path)
    if any(letter in "CQ" for letter, _ in parts):
        return re.sub(r"\s+", " ", _numbers(path)).strip()
    written, at = [], (0, 0)
    for points, closed in _polylines(parts):
        tenths = np.round(10 * simplified(points)).astype(int)
        steps = np.diff(np.concatenate([[at], tenths]), axis=0)
        moved = np.concatenate([[True], (steps[1:] != 0).any(1)])
        if len(steps) > 1 and not moved[1:].any():
            moved[1] = True  # a dot: a line of no length with round ends
        steps = steps[moved]
        written.append("m" + _pair(*steps[0]) + ("l" + _joined(steps[1:]) if len(steps) > 1 else "") + "z" * closed)
        at = tuple(tenths[0] if closed else tenths[-1])
    return "".join(written)


def _polylines(parts: list[tuple[str, str]]) -> list[tuple[NDArray[np.float64], bool]]:
    lines: list[tuple[list[list[float]], bool]] = []
    for letter, numbers in parts:
        if letter in "Zz":
            lines[-1] = (lines[-1][0], True)
            continue
        point = [float(number) for number in numbers.split()]
        if letter == "M":
            lines.append(([], False))
        lines[-1][0].append(point)
    return [(np.array(points), closed) for points, closed in lines]


def _joined(steps: NDArray[np.int_]) -> str:
    text = " ".join(_pair(x, y) for x, y in steps)
    return text.replace(" -", "-")


def _pair(x: int, y: int) -> str:
    return f"{_tenth(x)} {_tenth(y)}".replace(" -", "-")


def _tenth(value: int) -> str:
    text = f"{abs(value) // 10 or ''}{f'.{abs(value) % 10}' if value % 10 else ''}" or "0"
    return f"-{text}" if value < 0 else text


def simplified(points: NDArray[np.float64], tolerance: float = TOLERANCE) -> NDArray[np.float64]:
    """The points that a polyline needs to stay within the tolerance of itself, ends included."""
    if len(points) < 4:
        return points
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    waiting = [(0, len(points) - 1)]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        start, chord = points[first], points[last] - points[first]
        offsets = points[first + 1 : last] - start
        length = float(np.hypot(*chord))
        away = (
            np.abs(chord[0] * offsets[:, 1] - chord[1] * offsets[:, 0]) / length
            if length > 0
            else np.hypot(offsets[:, 0], offsets[:, 1])
        )
        far = int(away.argmax())
        if away[far] > tolerance:
            middle = first + 1 + far
            keep[middle] = True
            waiting += [(first, middle), (middle, last)]
    return points[keep]


def _unwrap(parent: ET.Element) -> None:
    """Groups that only have an id give way to their content."""
    for child in list(parent):
        _unwrap(child)
        if child.tag == f"{SVG}g" and not set(child.attrib) - {"id"}:
            place = list(parent).index(child)
            parent.remove(child)
            for offset, inner in enumerate(list(child)):
                parent.insert(place + offset, inner)


def _merge(parent: ET.Element) -> None:
    """Neighbouring lines of one style become one path."""
    for child in list(parent):
        _merge(child)
    before: ET.Element | None = None
    for child in list(parent):
        style = {name: value for name, value in child.attrib.items() if name not in ("d", "id")}
        joins = child.tag == f"{SVG}path" and style.get("fill") == "none" and "marker" not in style
        if joins and before is not None and style == {k: v for k, v in before.attrib.items() if k not in ("d", "id")}:
            # a relative move after a path starts at its end, so the first move of a joined path is written as absolute
            before.set("d", before.get("d", "") + "M" + child.get("d", "")[1:])
            parent.remove(child)
        else:
            before = child if joins else None


def _rename(root: ET.Element, prefix: str) -> None:
    """Short ids for what is referred to; none for the rest."""
    text = ET.tostring(root, encoding="unicode")
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    numbers = count()
    names = {old: f"{prefix}-{next(numbers)}" for old in sorted(used)}
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in names:
            element.set("id", names[own])
        for name, value in list(element.attrib.items()):
            if name == LINK or name == "href":
                element.attrib.pop(name)
                element.set("href", f"#{names[value[1:]]}" if value.startswith("#") else value)
            elif value.startswith("url(#"):
                element.set(name, f"url(#{names[value[5:-1]]})")
