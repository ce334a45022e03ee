"""Templates, styles and scripts of the pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..figures.style import dark_sequence

STATIC = files(__package__) / "static"
LICENCE = "uPlot.LICENSE"
PLOTTING = "uPlot.iife.min.js"

DARK_COLOURS = {
    "#000000": "#e6e8eb",
    "#1b1d20": "#e6e8eb",
    "#444444": "#a5acb5",
    "#585e66": "#a5acb5",
    "#666666": "#a5acb5",
    "#888888": "#8d949c",
    "#dddddd": "#363b42",
    "#e6e8eb": "#2d3238",
    "#ffffff": "#1b1e22",
    "#0072b2": "#2b95d6",
    "#56b4e9": "#9fd8f7",
    "#009e73": "#2fc79b",
    "#d55e00": "#ff8a3d",
    "#cc79a7": "#e39bc3",
    "#332288": "#8f84d8",
    "#882255": "#d16a9c",
    "#053300": "#b6e3a8",
    "#1f5f35": "#5fb27d",
    "#8c510a": "#c98a45",
    "#067279": "#3fb3ba",
    "#c32248": "#e8617f",
    "#0103ab": "#7d86e8",
    "#0a01fb": "#6f78ff",
    "#062255": "#8fa6d8",
    "#872284": "#cf74cc",
    "#7e011a": "#d8707f",
    "#1441ca": "#6d92f2",
    "#c4217b": "#ec6bb0",
    "#cfe0f2": "#2d4a68",
    "#fbe3b4": "#6b5320",
    "#e6cde6": "#5d3f63",
    "#c5e8cf": "#2b5c3c",
    "#e0e0e0": "#4a4e54",
    "#bdbdbd": "#6b7178",
    "#d6d6d6": "#565b61",
    "#fff3b0": "#b3a55c",
    **dark_sequence(),
}
"""Pictures are drawn for white paper. On a dark screen ink and paper change places, and the dark colours of the palette, the pale
ones of the phases and those of sequences are replaced; other colours stay."""


def environment() -> Environment:
    """Templates by their path in the package, e.g. report/page.html.j2; text is escaped, and an unknown name is an error."""
    made = Environment(
        loader=PackageLoader("grokscope", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"styles": styles, "scripts": scripts, "embedded": embedded}
    return made


@cache
def static(name: str) -> str:
    """The text of a file of the shared design."""
    text = (STATIC / name).read_text(encoding="utf-8")
    return f"/*!\n{static(LICENCE)}*/\n{text}" if name == PLOTTING else text


def styles(charts: bool, more: Sequence[str] = ()) -> Markup:
    """The style sheets of a page as one element."""
    names = ("page.css", *(("uPlot.min.css", "chart.css") if charts else ()), *more)
    return Markup("<style>\n%s</style>") % Markup("".join((*map(static, names), dark_rules())))


def dark_rules() -> str:
    """Rules that recolour still pictures on a dark screen."""
    rules = [".picture svg { fill: #e6e8eb; }", ".picture svg text:not([fill]) { fill: #e6e8eb; }"]
    for light, dark in DARK_COLOURS.items():
        for name in ("fill", "stroke"):
            rules.append(f'.picture svg [{name}="{light}" i] {{ {name}: {dark}; }}')
        rules.append(f'.swatch [stroke="{light}" i] {{ stroke: {dark}; }}')
    return "@media screen and (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}\n"


def scripts(charts: bool, more: Sequence[str] = ()) -> Markup:
    """The scripts of a page as one element, each in a scope of its own except uPlot, which the others use."""
    names = (
        "save.js",
        "contents.js",
        "tables.js",
        "hover.js",
        *((PLOTTING, "ticks.js", "chart.js") if charts else ()),
        *more,
    )
    own = (static(name) if name == PLOTTING else f"{{\n{static(name)}}}\n" for name in names)
    dark = f"const DARK = {json.dumps(DARK_COLOURS)};\n"
    return Markup("<script>\n%s</script>") % Markup(dark + "".join(own))


def embedded(value: Any) -> Markup:
    """A value as JSON for a `<script type="application/json">`, which no text in it can end."""
    return Markup(json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"))
