"""Settings found by tuning: <results>/<experiment>/<scale>/tuned.json, sealed. It stays beside the results that rest on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .disk import make_folder, write
from .results import label
from .seal import read_sealed_json, sealed_json

FILE = "tuned.json"


def tuned_file(results: Path, experiment: str, scale: str) -> Path:
    """Where the table of an experiment is, or will be."""
    return results / experiment / scale / FILE


def save_tuned(results: Path, experiment: str, scale: str, content: dict[str, Any]) -> Path:
    """Write what tuning has found so far; returns the path."""
    file = tuned_file(results, experiment, scale)
    make_folder(file.parent)
    write(file, sealed_json(content, label(file.parent, FILE)))
    return file


def load_tuned(results: Path, experiment: str, scale: str) -> dict[str, Any]:
    """What tuning has found, verified; empty if there is nothing yet."""
    file = tuned_file(results, experiment, scale)
    return read_sealed_json(file, label(file.parent, FILE)) if file.exists() else {}
