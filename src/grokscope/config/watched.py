"""Settings of runs that another program trained under `grokscope.watch`: what it said about itself, in place of a `RunConfig`.

Such a run is listed, shown, reported and loaded as any other. Its network cannot be rebuilt: only its own program has the code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

KIND = "watched"

MEANINGS = {
    "kind": "watched: trained by a program of its own, under grokscope.watch",
    "name": "Name that the program gave.",
    "model.class": "Class of the network.",
    "model.weights": "Number of its trainable weights.",
    "model.adapters": "How its attention was seen.",
    "tokens.informative": "Which tokens inform, as they were given.",
    "tokens.query": "The positions whose attention counts.",
    "tokens.layers": "Layers that count.",
    "tokens.heads": "Heads that count.",
    "prior.kind": "The prior in its first step.",
    "prior.beta": "Strength β of the prior in its first step; 0 without one.",
    "prior.schedule": "How β changes.",
    "prior.span": "Step at which an annealed or pulsed prior ends, or a late one starts.",
    "prior.target": "What attention is drawn to.",
    "prior.on": "mean: the average over layers and heads; each: every head.",
    "log.every": "Steps between rows.",
    "seed": "Which repetition it is.",
}
"""What each setting of such a run means; those under `settings.` are the program's own."""


def is_watched(plain: Mapping[str, Any]) -> bool:
    """Whether a stored config is one of these."""
    return plain.get("kind") == KIND


def watched_id(plain: Mapping[str, Any]) -> str:
    """Twelve hex digits of a hash of the settings; when rows are made does not count."""
    counted = {name: value for name, value in plain.items() if name != "log"}
    return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:12]


def informative_positions(plain: Mapping[str, Any]) -> list[int]:
    """The informative positions, where they are the same in every sequence and the query is the last; otherwise none."""
    tokens = plain.get("tokens", {})
    word, *places = str(tokens.get("informative", "")).split() or [""]
    return [int(place) for place in places] if word == "positions" and str(tokens.get("query")) == "-1" else []
