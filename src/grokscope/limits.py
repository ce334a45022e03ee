"""Limits on what one command may be asked for, checked before anything of that size is made."""

from __future__ import annotations

from .errors import ConfigError, shown

MOST_RUNS = 1_000_000
"""Most runs that one command trains."""


def check_count(runs: int, field: str) -> None:
    """Refuse more than MOST_RUNS runs; `field` is the setting that asks for them."""
    if runs > MOST_RUNS:
        number = f"{runs:,}" if runs.bit_length() <= 64 else shown(runs)
        raise ConfigError(field, f"{number} runs are more than the {MOST_RUNS:,} that one command trains")
