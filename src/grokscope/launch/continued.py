"""Runs that continue on another device, number of lanes or version than they were trained with so far."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..store import last_numerics, read_run


def change_of_numerics(run: Path, now: Mapping[str, Any]) -> str:
    """What differs for a stored run that is to continue, in words; "" where nothing does, or nothing is trained or recorded yet.

    now   `ops.blas.numerics`
    """
    if not run.exists():
        return ""
    info = read_run(run)
    before = last_numerics(info.manifest)
    if not info.epoch or not before or before == now:
        return ""
    return f"continued with {_difference(before, now)}; the bits may differ from those of an uninterrupted run"


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    kinds = ["gpu" if "gpu" in numerics else "cpu" for numerics in (before, now)]
    if kinds[0] != kinds[1]:
        return f"{kinds[1]} {now[kinds[1]]} instead of {kinds[0]} {before[kinds[0]]}"
    names = [name for name in now if name != "promise" and now[name] != before.get(name)]
    return ", ".join(f"{name} {now[name] or 'none'} instead of {before.get(name) or 'none'}" for name in names)
