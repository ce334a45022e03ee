"""Candidates of a search: supports, each with the run that tests it, and how they stand at a rung."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..priors.support import SupportKL
from ..store import RunInfo, read_each
from ..supports.base import family

if TYPE_CHECKING:
    from ..config import RunConfig

Units = tuple[int, ...]
"""A support, as a sorted set of units of the family that is searched."""


CURVES = ("val_loss", "val_calibrated_loss")
"""Losses of a candidate that are drawn over epochs."""
COLUMNS = ("val_calibrated_loss", "val_calibrated_error", "val_accuracy")


class Standing(NamedTuple):
    """How a candidate does on the validation examples at one epoch; lower loss is better.

    The loss is the calibrated one (`measures/validation.py`): the plain loss ranks a network that generalises in part behind those
    that know nothing, since it is surer of its wrong answers.
    """

    units: Units
    loss: float
    """Mean loss; infinite for a run that diverged."""
    error: float
    """Standard error of the mean loss."""
    accuracy: float

    @property
    def size(self) -> int:
        return len(self.units)


def ranked(standings: Sequence[Standing]) -> list[Standing]:
    """The best first; of two with equal loss the smaller support, then the first in order."""
    return sorted(standings, key=lambda one: (one.loss, one.size, one.units))


def run_for(config: RunConfig, kind: str, units: Units, beta: float, epochs: int) -> RunConfig:
    """The run that tests a support: a KL prior towards it, up to an epoch."""
    return replace(config, prior=SupportKL(beta=beta, family=kind, units=units), epochs=epochs)


def name_of(kind: str, units: Units) -> str:
    return family(kind).name(units)


def standing_at(epoch: int, units: Units, rows: Sequence[Mapping[str, Any]]) -> Standing:
    """The standing of a candidate at its last evaluation up to `epoch`."""
    row = [row for row in rows if row["epoch"] <= epoch][-1]
    loss, error, accuracy = (row[name] for name in COLUMNS)
    finite = loss is not None and math.isfinite(loss)
    return Standing(units, loss if finite else math.inf, error if finite else 0.0, accuracy or 0.0)


def standings_at(epoch: int, supports: Sequence[Units], runs: Sequence[RunInfo]) -> list[Standing]:
    """The same for stored runs."""
    found = []
    for units, table in zip(supports, read_each(runs, COLUMNS), strict=True):
        if isinstance(table, Exception):
            raise table
        found.append(standing_at(epoch, units, table.to_pylist()))
    return found
