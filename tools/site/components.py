"""The page of everything that can be chosen by name, from the registries that `grokscope list` reads."""

from __future__ import annotations

import importlib

from grokscope.cli.front import COMMANDS
from grokscope.describe import opening

from .markdown import plain

INTRO = """# Components

What can be chosen by name. An entry of your own is one file with one decorator; given to `--load`, it is listed and chosen like
these.
`grokscope list COMPONENT` prints the entries of one component with every setting; those of a run are on the page of
[settings](settings.md).
"""
CHOSEN_BY = {
    "tasks": "`--task`",
    "models": "`--model`",
    "priors": "`--prior`",
    "optimizers": "`--optim`",
    "filters": "`--filter`",
    "losses": "`--loss`",
    "tickets": "`--ticket RUN@EPOCH`, `--set ticket.kind=…`",
    "interventions": "`grokscope branch RUN@EPOCH --do …`, `--set do.kind=…`",
    "accelerators": "`grokscope race --methods …`",
    "tracks": "`grokscope race TRACK`",
    "predictors": "`grokscope forecast RUN --predictor …`",
    "measures": "always on; `grokscope measure` adds one to finished runs",
    "probes": "`grokscope probe NAME RUN`",
    "figures": "`grokscope plot NAME RUN`, `grokscope report --figure NAME`",
    "supports": "`grokscope search --set search.family=…`",
    "proposals": "`grokscope search --set search.proposal=…`",
    "schedules": "`grokscope search --set search.schedule=…`",
    "rivals": "`grokscope search --rivals …`",
}


def components_page() -> str:
    """One table per component, parts of the transformer last."""
    listing = importlib.import_module(f"grokscope.cli.{COMMANDS['list'][0]}")
    parts = importlib.import_module("grokscope.models.parts")
    places = {name: (f"grokscope.{module}", name) for name, module in listing.COMPONENTS.items()}
    chosen = CHOSEN_BY | {name: f"`--set {setting}=…`" for name, (_, setting) in listing.PARTS.items()}
    registries = {name: getattr(importlib.import_module(module), own) for name, (module, own) in places.items()}
    registries |= {name: getattr(parts, own) for name, (own, _) in listing.PARTS.items()}
    lines = [INTRO]
    for name, registry in registries.items():
        rows = (f"| `{own}` | {plain(opening(thing))} |" for own, thing in registry.entries().items())
        lines += [f"## {name}", "", f"Chosen by {chosen[name]}.", "", f"| {name} | |", "|---|---|", *rows, ""]
    return "\n".join(lines)
