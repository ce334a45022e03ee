"""Numbers of each run that are found when results are collected, where every evaluation is at hand: stored curves are thinned.

A function from a `Finished` run to a number is registered by name, and an experiment names those it needs in `collected`. They
become columns of the table of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..config import read_stored
from ..errors import ConfigError, nearest
from ..store import read_metrics
from ..tickets.base import FromRun

if TYPE_CHECKING:
    import pandas as pd

    from ..config import RunConfig
    from ..store import RunInfo


class Finished(NamedTuple):
    """A run of an experiment."""

    info: RunInfo
    metrics: pd.DataFrame
    """Every evaluation."""
    others: Mapping[str, RunInfo]
    """All runs of the experiment, by id."""
    asked: tuple[str, ...] = ()
    """Names of all numbers that are collected: those that train further runs may train them together."""

    @property
    def config(self) -> RunConfig:
        return read_stored(self.info.config, self.info.id)

    @property
    def origin(self) -> Finished | None:
        """The run that its ticket comes from, if any."""
        ticket = self.config.ticket
        if not isinstance(ticket, FromRun):
            return None
        info = self.others[ticket.run]
        return Finished(info, read_metrics(info).to_pandas(), self.others, self.asked)


Compute = Callable[[Finished], float | None]

registered: dict[str, Compute] = {}
training: set[str] = set()
"""Names of numbers for which further runs are trained."""


def collected(name: str, *, trains: bool = False) -> Callable[[Compute], Compute]:
    """Register a number that is found when results are collected: `@collected("t_first_80")`.

    trains   whether finding it trains further runs, as a search does: it then needs the device, and is not collected while the
             runs of experiments are trained
    """

    def add(compute: Compute) -> Compute:
        if name in registered:
            raise ConfigError("collected", f"{name!r} is registered twice; choose another name")
        registered[name] = compute
        if trains:
            training.add(name)
        return compute

    return add


def collect_named(names: tuple[str, ...], run: Finished) -> dict[str, float | None]:
    """The numbers of a run by name."""
    for name in names:
        if name not in registered:
            raise ConfigError("collected", f"none is called {name!r}. {nearest(name, registered)}")
    return {name: registered[name](run) for name in names}
