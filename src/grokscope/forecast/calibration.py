"""Which step sizes and localisations Langevin chains settle with, on a checkpoint of a stored run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import StoreError
from ..probes.base import few_threads
from ..probes.forecast import CHAINS, chained
from ..probes.learning_coefficient import LOCALISATION, STEP_SIZE, Setting, calibrate, local_learning_coefficient
from ..randomness import stream
from .runs import on_plateau

if TYPE_CHECKING:
    from ..run import StoredRun


@dataclass(frozen=True, kw_only=True)
class Row:
    """A setting of the chains, and what it gives."""

    step_size: float
    localisation: float
    llc: float
    """λ̂, the mean over chains."""
    error: float
    """Its standard error over chains."""
    drift: float
    """Relative change of λ̂ between the last two quarters of the steps."""
    settled: bool
    small_enough: bool
    """Whether the next smaller step size has settled too, and gives the same λ̂."""
    default: bool
    """Whether the probe `forecast` uses it."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The calibration of one run."""

    run: str
    epoch: int
    """Of the checkpoint."""
    rows: list[Row]
    used: float
    """λ̂ as the probe estimates it: with the default, fewer steps and smaller batches."""
    used_drift: float
    used_settled: bool

    @property
    def verdict(self) -> str:
        """What it says about the settings that the probe uses."""
        own = next(row for row in self.rows if row.default)
        if own.small_enough:
            return "the default has settled, and its step size is small enough"
        return (
            "the default has settled, but not with the next smaller step size"
            if own.settled
            else "the default has not settled"
        )


def calibrate_run(run: StoredRun, at: int | None = None) -> Calibration:
    """λ̂ over a grid of step sizes and localisations, from a checkpoint on the plateau.

    at   the last checkpoint up to this epoch; if omitted the first one since t_mem, which the probe starts from
    """
    seen = on_plateau(run, at)
    kept = seen.kept if at is not None else [epoch for epoch in run.finite_epochs if epoch >= seen.t_mem][:1]
    if not kept:
        upto = "" if at is None else f" up to epoch {at}"
        raise StoreError(
            f"run {run.id} has no checkpoint since epoch {seen.t_mem}{upto} to start chains from (log.keep)"
        )
    if run.config.task.shape.every_position:
        raise StoreError(f"run {run.id} answers at every position: its learning coefficient is not estimated")
    with few_threads():
        given = chained(run.network(kept[-1]), run)
        found = calibrate(*given, run.config.seed)
        used = local_learning_coefficient(*given, stream(run.config.seed, CHAINS))
    return Calibration(
        run=run.id,
        epoch=kept[-1],
        rows=[_row(one) for one in found],
        used=used.mean,
        used_drift=used.drift,
        used_settled=used.settled,
    )


def _row(setting: Setting) -> Row:
    epsilon, gamma, found, small_enough = setting
    return Row(
        step_size=epsilon,
        localisation=gamma,
        llc=found.mean,
        error=found.error,
        drift=found.drift,
        settled=found.settled,
        small_enough=small_enough,
        default=(epsilon, gamma) == (STEP_SIZE, LOCALISATION),
    )
