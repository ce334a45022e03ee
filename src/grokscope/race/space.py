"""Spaces of settings, and draws from them: once and for all, from a seed that is part of the protocol."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from ..errors import ConfigError
from ..randomness import stream

SEED = 2026
"""Of all draws of the race."""
DIGITS = 5
"""Significant digits of a drawn value: enough for a setting, and short enough to be printed."""
EDGE = 0.05
"""Share of a range, at either end, in which a chosen value says that better ones may lie beyond."""


class LogUniform(NamedTuple):
    """A positive number whose logarithm is uniform between those of two ends."""

    low: float
    high: float
    complement: bool = False
    """Whether 1 − x is drawn, as for a momentum or the decay of a mean."""

    def at(self, quantile: float) -> float:
        """The value at a quantile between 0 and 1."""
        drawn = float(f"{math.exp((1 - quantile) * math.log(self.low) + quantile * math.log(self.high)):.{DIGITS}g}")
        return float(f"{1 - drawn:.6g}") if self.complement else drawn

    def is_edge(self, value: float) -> bool:
        """Whether a value lies at one of the ends, on the scale on which it is drawn."""
        drawn = 1 - value if self.complement else value
        if drawn <= 0 or self.low == self.high:
            return False
        quantile = math.log(drawn / self.low) / math.log(self.high / self.low)
        return not EDGE < quantile < 1 - EDGE

    def __str__(self) -> str:
        return f"{'1 − ' if self.complement else ''}({self.low:g} … {self.high:g})"


Space = Mapping[str, LogUniform]
"""Ranges by dotted name of the setting."""


def draws(name: str, space: Space, count: int) -> list[dict[str, float]]:
    """`count` independent draws; the first ones do not depend on how many are drawn.

    name   of the method: each has random numbers of its own
    """
    import torch

    for setting, own in space.items():
        if not 0 < own.low <= own.high:
            raise ConfigError(
                setting, f"the space of method {name} is empty or not positive: {own.low:g} … {own.high:g}"
            )
    generator = stream(SEED, f"race {name}")
    quantiles = torch.rand(count, max(len(space), 1), generator=generator, dtype=torch.float64).tolist()
    return [{setting: own.at(q) for (setting, own), q in zip(space.items(), row, strict=False)} for row in quantiles]


def middle(space: Space) -> dict[str, float]:
    """The geometric middle of every range."""
    return {setting: own.at(0.5) for setting, own in space.items()}
