"""One configuration with several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ConfigError
from .run import RunConfig


def with_seeds(config: RunConfig, seeds: Sequence[int] | None, field: str = "seeds") -> list[RunConfig]:
    """The configuration with each of the seeds, or with its own if none are given.

    field   what chose the seeds; a seed of the configuration that it would leave out is refused
    """
    if seeds is None:
        return [config]
    if config.seed and config.seed not in seeds:
        raise ConfigError("seed", f"{config.seed} is set, but {field} chooses other seeds: leave out one of the two")
    return [replace(config, seed=seed) for seed in seeds]
