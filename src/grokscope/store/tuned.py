"""Settings found by tuning: <results>/<experiment>/<scale>/tuned.json, sealed. It stays beside the results that rest on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .disk import make_folder, write
from .results import label
from .seal import read_sealed_json, sealed_json

FILE = "tuned.json"


def save_tuned(results: Path, experiment: str, scale: str, content: dict[str, Any]) -> Path:
    """Write what tuning has found so far; returns the path."""
    target = results / experiment / scale
    make_folder(target)
    write(target / FILE, sealed_json(content, label(target, FILE)))
    return target / FILE


def load_tuned(results: Path, experiment: str, scale: str) -> dict[str, Any]:
    """What tuning has found, verified; empty if there is nothing yet."""
    target = results / experiment / scale
    return read_sealed_json(target / FILE, label(target, FILE)) if (target / FILE).exists() else {}
