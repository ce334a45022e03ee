"""Grids: a TOML file with lists becomes many configs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..config import RunConfig, merge, nested, with_seeds
from ..config.files import print_line, read_toml
from ..errors import ConfigError, named, shown
from ..limits import check_count
from ..settings import flatten


def read_grid(
    file: Path, settings: dict[str, Any], seeds: list[int] | None, notify: Callable[[str], None] = print_line
) -> list[RunConfig]:
    """Every point of a grid file for every seed, checked, in the order of the file with the last list varying fastest.

    notify   called once with each line about settings that the chosen components do not have
    """
    plain = read_toml(file)
    grid = plain.pop("grid", {})
    given = plain.pop("seeds", None)
    if not isinstance(grid, dict) or not grid:
        raise ConfigError("grid", f'{file} has no table [grid] of lists, such as "prior.beta" = [0.0, 0.3]')
    ignored: dict[str, None] = {}
    base = merge(plain, nested(settings), source=str(file), notify=lambda line: ignored.setdefault(line))
    chosen = seeds if seeds is not None or given is None else _seeds(given)
    field = "seeds" if seeds is None else "--seeds"
    configs = []
    source = f"{file} or --set" if settings else str(file)
    grid_points = points(grid)
    check_count(len(grid_points) * (1 if chosen is None else len(chosen)), "grid")
    for point in grid_points:
        plain = merge(base, nested(point), source=source, notify=lambda line: ignored.setdefault(line))
        config = RunConfig.from_dict(plain).check()
        configs += with_seeds(config, chosen, field)
    for line in ignored:
        notify(line)
    return configs


def _seeds(given: Any) -> list[int]:
    """`5` means seeds 0 … 4; a list means these."""
    listed = given if isinstance(given, list) else [given]
    if any(isinstance(seed, bool) or not isinstance(seed, int) for seed in listed):
        raise ConfigError("seeds", f"{shown(given)} is neither an integer nor a list of integers")
    if isinstance(given, int):
        check_count(given, "seeds")
    chosen = given if isinstance(given, list) else list(range(given))
    if not chosen:
        raise ConfigError("seeds", f"{shown(given)} selects no seeds")
    if min(chosen) < 0:
        raise ConfigError("seeds", f"{shown(min(chosen))} is negative")
    return chosen


def points(grid: dict[str, Any]) -> list[dict[str, Any]]:
    """The product of a grid's lists: one dict of dotted settings per point."""
    lists = flatten(grid)  # TOML reads an unquoted prior.beta = […] as nested tables; both spellings mean the same
    for name, values in lists.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"grid.{named(name)}", f"{shown(values)} is not a list of values")
    check_count(math.prod(map(len, lists.values())), "grid")
    return [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
