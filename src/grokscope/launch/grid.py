"""Settings from files and options: a TOML file and --set options become one config, a grid becomes many."""

from __future__ import annotations

import dataclasses
import itertools
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..config import RunConfig, merge, nested
from ..errors import ConfigError
from ..settings import flatten


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def read_config(file: Path | None, settings: dict[str, Any], notify: Callable[[str], None] = _say) -> RunConfig:
    """The file's settings with `settings` (dotted names) on top.

    notify   called with one line per setting of the file that the chosen components do not have
    """
    plain = read_toml(file) if file else {}
    for word in ("grid", "seeds"):
        if word in plain:
            raise ConfigError(word, f"{file} is a grid; run it with: grokscope sweep {file}")
    return RunConfig.from_dict(merge(plain, nested(settings), source=str(file), notify=notify))


def read_grid(
    file: Path, settings: dict[str, Any], seeds: list[int] | None, notify: Callable[[str], None] = _say
) -> list[RunConfig]:
    """Every point of a grid file for every seed, checked, in the order of the file with the last list varying fastest.

    notify   called once with each line about settings that the chosen components do not have
    """
    plain = read_toml(file)
    grid = plain.pop("grid", {})
    given = plain.pop("seeds", 1)
    if not isinstance(grid, dict) or not grid:
        raise ConfigError("grid", f'{file} has no table [grid] of lists, such as "prior.beta" = [0.0, 0.3]')
    ignored: dict[str, None] = {}
    base = merge(plain, nested(settings), source=str(file), notify=lambda line: ignored.setdefault(line))
    chosen = seeds if seeds is not None else _seeds(given)
    configs = []
    source = f"{file} or --set" if settings else str(file)
    for point in points(grid):
        plain = merge(base, nested(point), source=source, notify=lambda line: ignored.setdefault(line))
        config = RunConfig.from_dict(plain).check()
        configs += [dataclasses.replace(config, seed=seed) for seed in chosen]
    for line in ignored:
        notify(line)
    return configs


def _seeds(given: Any) -> list[int]:
    """`5` means seeds 0 … 4; a list means these."""
    chosen = list(range(given)) if isinstance(given, int) else given
    if not isinstance(chosen, list) or not all(isinstance(seed, int) for seed in chosen):
        raise ConfigError("seeds", f"{given!r} is neither a number nor a list of numbers")
    if not chosen:
        raise ConfigError("seeds", f"{given!r} selects no seeds")
    return chosen


def points(grid: dict[str, Any]) -> list[dict[str, Any]]:
    """The product of a grid's lists: one dict of dotted settings per point."""
    lists = flatten(grid)  # TOML reads an unquoted prior.beta = […] as nested tables; both spellings mean the same
    for name, values in lists.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"grid.{name}", f"{values!r} is not a list of values")
    return [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]


def read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(file), f"cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(str(file), f"is not valid TOML: {error}") from None
