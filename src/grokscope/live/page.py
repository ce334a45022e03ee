"""The page: one HTML document with its style, its script and uPlot inside. It asks nothing of any other host."""

from __future__ import annotations

import json
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from ..figures.phases import PHASES
from ..figures.style import PHASE_COLOURS
from ..pages.assets import static
from .panels import PANELS
from .view import LISTED

SCRIPTS = ("charts.js", "marks.js", "attention.js", "table.js", "live.js")
STYLES = ("live.css",)


def render(folder: str, nonce: str) -> str:
    """The page as HTML.

    nonce   names the scripts and styles that the browser may use: those of the page itself
    """
    package = files(__package__)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((package / "page.html.j2").read_text(encoding="utf-8"))
    about = {
        "phases": dict(zip(PHASES, PHASE_COLOURS, strict=False)),
        "panels": [
            {"name": p.name, "log": p.log, "percent": p.percent, "metrics": [name for _, name in p.metrics]}
            for p in PANELS
        ],
        "listed": LISTED,
    }
    return template.render(
        folder=folder,
        nonce=nonce,
        panels=PANELS,
        scripts=[static("uPlot.iife.min.js"), static("ticks.js"), *(_own(name) for name in SCRIPTS)],
        styles=[static("uPlot.min.css"), *(_own(name) for name in STYLES)],
        about=json.dumps(about).replace("<", "\\u003c"),
    )


def _own(name: str) -> str:
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")
