"""SVG of matplotlib made small enough to be part of a page: a tenth of its size, the same picture.

Coordinates are rounded to a tenth of a point and written relative to the point before; polylines lose the points that lie within
`TOLERANCE` of the line without them (Ramer 1972; Douglas & Peucker 1973); wrappers, white backgrounds and ids that nothing refers
to go; neighbouring lines of one style become one path. Text stays text, so that it can be selected, searched and read aloud.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
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
FURNITURE = ("#dddddd", "#444444")
"""Colours of the grid and of axes with their ticks, in the style of our figures."""
PAINT = (
    "fill",
    "stroke",
    "fill-opacity",
    "stroke-opacity",
    "opacity",
    "stroke-width",
    "stroke-linecap",
    "stroke-dasharray",
)
NUMBER = re.compile(r"scale\([^)]*\)|-?\d+\.\d+")
MOVE = re.compile(r"m(-?[\d.]+) ?(-?[\d.]+)")


def slim(svg: str, prefix: str) -> str:
    """The picture as an `<svg>` element for an HTML page; `prefix` makes its ids unique there."""
    # the document type would be parsed as well: matplotlib writes no entities
    root = ET.fromstring(svg[svg.index("<svg") :])
    _drop(root)
    _attributes(root)
    _expand(root)
    _unpaint(root)
    _unwrap(root)
    _merge(root)
    _gather(root)
    _rename(root, prefix)
    box = root.get("viewBox") or ""
    root.attrib = {"viewBox": box, "stroke-linejoin": "round", "font-family": "DejaVu Sans, Verdana, sans-serif"}
    text = ET.tostring(root, encoding="unicode")
    text = re.sub(r' xmlns:?\w*="[^"]*"', "", text)
    text = re.sub(r"(</?)ns\d+:", r"\1", text)
    return re.sub(r"\bns\d+:href=", "href=", text).replace(" />", "/>")


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
            if (name in NEVER and NEVER[name] in ("", value)) or (name == "font-family"):
                continue
            element.set(name, _numbers(value.removesuffix("px")))
        if element.get("d"):
            element.set("d", short_path(element.get("d", "")))
        if element.get("transform", "").startswith("rotate(-0 "):
            del element.attrib["transform"]
        for name in ("x", "y", "transform", "width", "height"):
            if element.get(name) and element is not root:
                element.set(name, _numbers(element.get(name, "")))


def _numbers(text: str) -> str:
    """Numbers with at most two decimals; colours and names as they are, and scales: that of outlined letters is 1/64."""
    if text.startswith(("#", "url")):
        return text
    return NUMBER.sub(lambda found: found[0] if "(" in found[0] else _short(float(found[0])), text)


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


def _expand(root: ET.Element) -> None:
    """Marks that are simple polylines, such as ticks, and areas that are drawn once take the place of the references to them."""
    defined = {path.get("id"): path for path in root.iter(f"{SVG}path") if path.get("id")}
    uses = list(root.iter(f"{SVG}use"))
    times = Counter(use.get(LINK, "")[1:] for use in uses)
    for use in uses:
        path = defined.get(use.get(LINK, "")[1:])
        if path is None or not set(use.attrib) <= {LINK, "x", "y", *PAINT}:
            continue
        d = path.get("d", "")
        start = MOVE.match(d)
        if start is None or d.count("m") > 1 or (len(d) > 24 and times[path.get("id", "")] > 1):
            continue
        x, y = (float(start[1 + n]) + float(use.get("xy"[n], 0)) for n in (0, 1))
        own = {name: value for name, value in {**use.attrib, **path.attrib}.items() if name in PAINT}
        if "z" not in d and d.count("l") == 1 and len(d[start.end() :].replace("-", " ").split()) <= 2:
            own["fill"] = "none"
        use.tag, use.attrib = f"{SVG}path", own
        use.set("d", f"m{_pair(round(10 * x), round(10 * y))}{d[start.end() :]}")
    referred = {use.get(LINK, "")[1:] for use in root.iter(f"{SVG}use")}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{SVG}defs":
                for inner in list(child):
                    if inner.tag == f"{SVG}path" and inner.get("id") not in referred:
                        child.remove(inner)
                if not len(child):
                    parent.remove(child)


def _unpaint(root: ET.Element) -> None:
    """Marks lose the paint that all references to them have: style sheets reach the references, not what they refer to."""
    uses: dict[str, list[ET.Element]] = {}
    for use in root.iter(f"{SVG}use"):
        uses.setdefault(use.get(LINK, "")[1:], []).append(use)
    for path in root.iter(f"{SVG}path"):
        for name in [name for name in path.attrib if name in PAINT and path.get("id") in uses]:
            if all(name in use.attrib for use in uses[path.get("id", "")]):
                del path.attrib[name]


def _gather(parent: ET.Element) -> None:
    """Neighbouring marks of one style get a group that has the style."""
    for child in list(parent):
        _gather(child)
    groups: list[list[ET.Element]] = []
    for child in list(parent):
        style = {name: value for name, value in child.attrib.items() if name not in ("x", "y", LINK)}
        if child.tag != f"{SVG}use":
            groups.append([])
        elif groups and groups[-1] and _style(groups[-1][0]) == style:
            groups[-1].append(child)
        else:
            groups.append([child])
    for group in groups:
        if len(group) > 1:
            made = ET.Element(f"{SVG}g", _style(group[0]))
            parent.insert(list(parent).index(group[0]), made)
            for use in group:
                parent.remove(use)
                use.attrib = {name: value for name, value in use.attrib.items() if name in ("x", "y", LINK)}
                made.append(use)


def _style(element: ET.Element) -> dict[str, str]:
    return {name: value for name, value in element.attrib.items() if name not in ("x", "y", "d", "id", LINK)}


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
    """Neighbouring lines of one style become one path; grid and ticks also across the text between them."""
    for child in list(parent):
        _merge(child)
    before: ET.Element | None = None
    furniture: list[ET.Element] = []
    for child in list(parent):
        style = _style(child)
        joins = child.tag == f"{SVG}path" and style.get("fill") == "none"
        is_furniture = joins and style.get("stroke") in FURNITURE
        found = next((one for one in furniture if is_furniture and _style(one) == style), before if joins else None)
        if found is not None and _style(found) == style:
            # a relative move after a path starts at its end, so the first move of a joined path is written as absolute
            found.set("d", found.get("d", "") + "M" + child.get("d", "")[1:])
            parent.remove(child)
            continue
        before = child if joins else None
        if is_furniture:
            furniture.append(child)
        elif child.tag != f"{SVG}text":
            furniture = []


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
