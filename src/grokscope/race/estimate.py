"""What a race takes at most, in run-steps, before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..experiments import Experiment
    from .methods.base import Method
    from .tracks.base import Scale, Sizes, Track


class Estimate(NamedTuple):
    """Run-steps of a track if no run ended early; heats end when enough draws have reached 99 %, often much sooner."""

    track: str
    methods: int
    tuning: int
    """Of all draws and all finalists."""
    scoring: int
    """Of the fresh seeds; a search counts as one run, and takes several."""

    def __str__(self) -> str:
        most = f"at most {self.tuning:,} run-steps of tuning and {self.scoring:,} of scoring"
        return f"track {self.track}: {self.methods} method{'s' * (self.methods != 1)}, {most}"


class ControlsEstimate(NamedTuple):
    """Run-steps of the positive controls if no run ended early."""

    runs: int
    run_steps: int

    def __str__(self) -> str:
        return f"controls: {self.runs:,} runs, at most {self.run_steps:,} run-steps"


def estimate(track: Track, methods: Iterable[Method], scale: Scale, sizes: Sizes) -> Estimate:
    """The most run-steps of a track."""
    base = track.base(scale)
    own = list(methods)
    steps = base.epochs * base.steps_per_epoch
    tuned = sum(not one.inherits for one in own)
    runs = sizes.draws + sizes.finalists * (sizes.tuning - 1)
    return Estimate(track.kind, len(own), tuned * runs * steps, len(own) * sizes.seeds * steps)


def estimate_controls(experiment: Experiment, scale: Scale, sizes: Sizes) -> ControlsEstimate:
    """The most run-steps of the positive controls."""
    runs = [config for _, config in experiment.configs(scale, sizes.seeds)] if experiment.arms else []
    return ControlsEstimate(len(runs), sum(config.epochs * config.steps_per_epoch for config in runs))


def check_sizes(sizes: Sizes) -> None:
    """ConfigError for a budget with which nothing can be chosen."""
    if sizes.draws < 2:
        raise ConfigError(
            "--draws", f"{sizes.draws} is too small a budget: there is nothing to choose from; take 2 or more"
        )
    if sizes.seeds < 1:
        raise ConfigError("--seeds", f"{sizes.seeds} is below 1")
