"""When a run memorised and when it generalised, by a criterion that is a setting.

Structural inference (App. G.2) calls "grokking time" the first epoch with test accuracy ≥ 99 %; grokking tickets takes
t_mem and t_gen at 95 % and their ratio τ_grok = t_gen / t_mem. Accuracy can touch a threshold and fall back, so the
default is the first epoch from which it is held. The papers' own clock is "first"; its times are reported as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from ..errors import ConfigError, nearest
from ..thresholds import reaches

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

Metrics: TypeAlias = "pd.DataFrame | Mapping[str, Any]"
"""The table of one run: one column per metric, one row per evaluation, epochs increasing."""

ClockName = Literal["first", "held", "stable"]

RATIO_THRESHOLD = 0.95
"""The accuracy at which grokking tickets takes both times of τ_grok, whatever the criterion's threshold."""


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """What counts as having reached an accuracy, and since when."""

    threshold: float = 0.99
    """Accuracy, a fraction between 0 and 1."""
    clock: ClockName = "held"
    """first: the first evaluation at or above the threshold. held: the first one from which the accuracy stays there for
    `window` epochs. stable: the first one from which it never falls below again until the end of the run."""
    window: int = 100
    """Number of epochs required by "held"; 0 is the same as "first"."""

    def __post_init__(self) -> None:
        if self.clock not in get_args(ClockName):
            raise ConfigError("clock", f"no clock is called {self.clock!r}. {nearest(self.clock, get_args(ClockName))}")
        if not 0 < self.threshold <= 1:
            raise ConfigError("threshold", f"{self.threshold:g} is not an accuracy between 0 and 1, such as 0.99")
        if self.window < 0:
            raise ConfigError("window", f"{self.window} is below 0")

    def __str__(self) -> str:
        """`≥ 99 %, held 100 epochs`"""
        return f"≥ {self.percent}, {self.manner}"

    @property
    def percent(self) -> str:
        """`99 %`"""
        return f"{100 * self.threshold:.6g} %"

    @property
    def manner(self) -> str:
        """`held 100 epochs`: which of the evaluations at or above the threshold is meant."""
        return {"first": "first touch", "held": f"held {self.window} epochs", "stable": "to the end of the run"}[
            self.clock
        ]

    def describe(self, score: str = "test accuracy") -> str:
        """`test accuracy ≥ 99 %, held 100 epochs`, or `test R² ≥ 0.99, held 100 epochs`"""
        return f"{score} ≥ {self.threshold:.6g}, {self.manner}" if score.endswith("R²") else f"{score} {self}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Criterion:
        return cls(**plain)

    def time(self, epochs: ArrayLike, accuracy: ArrayLike) -> int | None:
        """The epoch at which `accuracy` met the criterion; None if it did not. NaN counts as below every threshold.

        An accuracy is held from an evaluation on if no later one is below the threshold up to and including the first
        that is `window` or more epochs away. Where the run ends before that, the accuracy must be held to the end of
        the run, over two evaluations or more.
        """
        import numpy as np  # here, since listing runs needs times and not numpy

        epoch = np.asarray(epochs)
        if np.any(np.diff(epoch) <= 0):
            raise ValueError("epochs must increase from row to row: give the rows of one run, in order")
        # Stretches of evaluations at or above the threshold: rows start … end − 1.
        above = reaches(np.asarray(accuracy), self.threshold)
        edges = np.flatnonzero(np.diff(above.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
        for start, end in edges:
            to_the_end = end == len(epoch)
            length = epoch[end - 1] - epoch[start]
            held = length >= self.window or (to_the_end and end - start >= 2)
            if {"first": True, "held": held, "stable": to_the_end}[self.clock]:
                return int(epoch[start])
        return None


DEFAULT = Criterion()
FIRST_TOUCH = Criterion(clock="first")
"""The papers' clock; that of results stored without a criterion."""


@dataclass(frozen=True, kw_only=True)
class Times:
    """The times of one run, in epochs; None is "not by `last_epoch`"."""

    last_epoch: int | None
    """Last evaluated epoch; None for a run without evaluations. A run that has not grokked is censored here."""
    t_mem: int | None
    """When train accuracy met the criterion."""
    t_grok: int | None
    """When test accuracy met the criterion."""
    t_mem_first: int | None
    """First epoch with train accuracy at or above the criterion's threshold."""
    t_grok_first: int | None
    """First epoch with test accuracy at or above the criterion's threshold."""
    t_mem_95: int | None
    """When train accuracy met the criterion at 95 % in place of its threshold."""
    t_gen_95: int | None
    """When test accuracy met the criterion at 95 % in place of its threshold."""
    seconds_to_grok: float | None
    """Wall seconds spent on the run up to t_grok; None when it has not grokked or seconds were not logged."""

    @property
    def tau_grok(self) -> float | None:
        """τ_grok = t_gen / t_mem at 95 %, as in grokking tickets; None when either is missing or t_mem is 0."""
        if self.t_gen_95 is None or not self.t_mem_95:
            return None
        from ..theory import grokking_ratio  # imports PyTorch: only when a ratio is needed

        return float(grokking_ratio(self.t_gen_95, self.t_mem_95))

    def to_dict(self) -> dict[str, int | float | None]:
        """One row of a table of runs."""
        return {**asdict(self), "tau_grok": self.tau_grok}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Times:
        """The inverse of `to_dict`; other keys are ignored."""
        return cls(**{name: plain[name] for name in TIMES})


_ENDS: tuple[ClockName, ...] = ("first", "stable")
STABLE_FACTOR = 2
"""A run shows a stable accuracy if it was trained for at least this many times the epochs to the first crossing."""


def stable_time(epochs: ArrayLike, accuracy: ArrayLike, threshold: float, window: int = DEFAULT.window) -> int | None:
    """The epoch from which `accuracy` never fell below the threshold until the end; None if it did not stay there for `window`
    epochs, or if the run ended before it was trained on, after the first crossing, for as long again."""
    import numpy as np

    epoch = np.asarray(epochs)
    first, last = (Criterion(threshold=threshold, clock=clock).time(epoch, accuracy) for clock in _ENDS)
    if first is None or last is None:
        return None
    return last if epoch[-1] >= max(STABLE_FACTOR * first, last + window) else None


TIMES = tuple(field.name for field in fields(Times))
"""Names of the times of a run."""


NEEDED = ("epoch", "train_accuracy", "test_accuracy")
"""Columns that times are found from."""


def require_columns(metrics: Metrics) -> None:
    """ConfigError if the table of a run lacks a column that times are found from."""
    for name in NEEDED:
        if name not in metrics:
            raise ConfigError(
                "metrics", f"the table of a run needs a column {name!r}. {nearest(name, map(str, metrics))}"
            )


def run_times(metrics: Metrics, criterion: Criterion = DEFAULT) -> Times:
    """Times of one run from its metric table."""
    import numpy as np

    require_columns(metrics)
    epoch = np.asarray(metrics["epoch"])
    criteria = (criterion, replace(criterion, clock="first"), replace(criterion, threshold=RATIO_THRESHOLD))
    accuracies = (np.asarray(metrics[f"{split}_accuracy"], dtype=float) for split in ("train", "test"))
    (t_mem, t_mem_first, t_mem_95), (t_grok, t_grok_first, t_gen_95) = (
        [one.time(epoch, accuracy) for one in criteria] for accuracy in accuracies
    )
    seconds = None
    if t_grok is not None and "seconds" in metrics:
        seconds = float(np.asarray(metrics["seconds"])[np.searchsorted(epoch, t_grok)])
    return Times(
        last_epoch=int(epoch[-1]) if len(epoch) else None,
        t_mem=t_mem,
        t_grok=t_grok,
        t_mem_first=t_mem_first,
        t_grok_first=t_grok_first,
        t_mem_95=t_mem_95,
        t_gen_95=t_gen_95,
        seconds_to_grok=seconds,
    )
