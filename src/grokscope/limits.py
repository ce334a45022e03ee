"""Limits on what one command may be asked for, checked before anything of that size is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .coerce import coerce
from .errors import ConfigError, shown

MOST_RUNS = 1_000_000
"""Most runs that one command trains."""


def check_count(runs: int, field: str) -> None:
    """Refuse more than MOST_RUNS runs; `field` is the setting that asks for them."""
    if runs > MOST_RUNS:
        number = f"{runs:,}" if runs.bit_length() <= 64 else shown(runs)
        raise ConfigError(field, f"{number} runs are more than the {MOST_RUNS:,} that one command trains")


def chosen_seeds(seeds: Any) -> list[int] | None:
    """The seeds that a number of them, or a list, stands for; None stands for none. ConfigError for anything else."""
    if seeds is None:
        return None
    if isinstance(seeds, Iterable) and not isinstance(seeds, (str, bytes)):
        return [coerce("seeds", int, seed) for seed in seeds]
    try:
        number: int = coerce("seeds", int, seeds)
    except ConfigError:
        raise ConfigError("seeds", f"{shown(seeds)} is neither a number of seeds nor a list of them") from None
    check_count(number, "seeds")
    return list(range(number))
