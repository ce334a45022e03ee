"""Forecasts of stored runs, by a predictor that has learned from committed results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from ..analysis import times_of
from ..analysis.plateau_features import features_at
from ..errors import StoreError
from ..probes.forecast import network_features
from ..probes.learning_coefficient import SETTLED
from .base import INTERVAL, predictors
from .data import DRIFT, table_at
from .evaluate import FEWEST, auroc, chance, out_of_fold
from .unlike import in_words, outside

if TYPE_CHECKING:
    from ..run import StoredRun
    from ..store.results import Results

FAR = 3.0
"""Standard deviations from the runs that were learned from beyond which a forecast is not to be trusted."""
FIRST, *OTHERS = ("combined", "without-oracle", "divergence", "fourier", "entropy", "memorisation")
"""The predictor that is asked where none is named, and those that are asked instead where the run has not all its features: by how
they rank on stored runs. Every run that has memorised has those of the last."""
CLOCK = "first"
"""The clock of `actual`, and of the times that predictors learn: the first evaluation at the threshold, held or not."""


@dataclass(frozen=True, kw_only=True)
class RunForecast:
    """What is said about one run."""

    run: str
    predictor: str
    epoch: int
    """Epoch of observation."""
    chance: float
    """Probability of generalising by the epoch `by`."""
    by: int
    t_grok: float
    """Median of the forecast."""
    low: float
    high: float
    """Ends of the interval of 80 %."""
    trust: str
    """In words: how it did on unseen seeds, and whether this run resembles those that were learned from."""
    actual: int | None
    """When it did generalise, if it is known: its t_grok_first, the first touch, which may be earlier than t_grok."""
    clock: str = CLOCK
    """Of t_grok and actual."""
    note: str = ""
    """Why another predictor was asked than the usual one."""


class MissingError(StoreError):
    """A run has not all features of a predictor."""

    def __init__(self, run: str, kind: str, missing: set[str], t_mem: int, epoch: int):
        self.missing = ", ".join(sorted(missing))
        super().__init__(
            f"run {run} has no {self.missing} at epoch {epoch}, which {kind} needs; a checkpoint between {t_mem} and {epoch} "
            "(log.keep) or more evaluations (log.every) may have it"
        )


class Observed(NamedTuple):
    """Where on its plateau a run is observed."""

    t_mem: int
    epoch: int
    kept: list[int]
    """Epochs of the checkpoints since t_mem, up to the epoch of observation."""


def on_plateau(run: StoredRun, at: int | None = None) -> Observed:
    """The plateau of a run up to an epoch, t_mem by default; StoreError if it had not memorised by then, or has generalised."""
    times = times_of(run.info)
    if times.t_mem is None:
        raise StoreError(
            f"run {run.id} has not memorised by epoch {run.info.epoch}: there is no plateau to forecast from"
        )
    epoch = times.t_mem if at is None else at
    if epoch < times.t_mem:
        raise StoreError(f"run {run.id} memorised at epoch {times.t_mem}, after epoch {epoch}; ask at a later one")
    if epoch > run.info.epoch:
        raise StoreError(f"run {run.id} was trained to epoch {run.info.epoch}, not to {epoch}")
    if times.t_grok_first is not None and times.t_grok_first <= epoch:
        raise StoreError(f"run {run.id} has generalised at epoch {times.t_grok_first} already, before epoch {epoch}")
    return Observed(times.t_mem, epoch, [own for own in run.finite_epochs if times.t_mem <= own <= epoch])


def observe(run: StoredRun, kind: str, at: int | None = None) -> dict[str, float]:
    """The features of a run at an epoch of its plateau, t_mem by default."""
    t_mem, epoch, kept = on_plateau(run, at)
    needed = set(predictors.get(kind).columns)
    found = features_at(run.metrics, float(t_mem), float(epoch))
    if kept and needed - set(found):
        found |= network_features(run, kept[-1], chains="llc" in needed)
    if missing := needed - set(found):
        if missing == {"llc"} and DRIFT in found:
            raise StoreError(
                f"run {run.id}: Langevin chains from epoch {kept[-1]} have not settled (drift {found[DRIFT]:.2f}, at most "
                f"{SETTLED}); see --calibrate"
            )
        raise MissingError(run.id, kind, missing, t_mem, epoch)
    return found | {"observed": float(max(epoch, 1)), "t_mem": float(t_mem)}


def _observe_any(run: StoredRun, at: int | None) -> tuple[str, dict[str, float], str]:
    """The first predictor whose features a run has, the features, and why it is not the usual one."""
    note = ""
    for kind in (FIRST, *OTHERS):
        try:
            return kind, observe(run, kind, at), note and f"{note}: {kind} instead"
        except MissingError as error:
            note = note or f"{FIRST} needs {error.missing}, which the run has not"
    raise StoreError(f"run {run.id}: {note}")


def forecast_run(
    run: StoredRun, pool: dict[str, Results], kind: str | None = None, at: int | None = None, by: int | None = None
) -> RunForecast:
    """Whether and when a run will generalise.

    kind   predictor; by default `combined`, or another one where the run has not all its features
    by     epoch of the probability; the run's last planned epoch by default
    """
    kind, seen, note = _observe_any(run, at) if kind is None else (kind, observe(run, kind, at), "")
    learned = table_at(pool, seen["observed"] / max(seen["t_mem"], 1.0))
    learned = learned[learned["run"] != run.id] if len(learned) else learned
    predictor = predictors.get(kind)()
    usable = learned[predictor.usable(learned)] if len(learned) else learned
    if len(usable) < FEWEST:
        raise StoreError(
            f"{len(usable)} stored runs have what {kind} needs at this epoch; {FEWEST} are needed to learn from"
        )
    predictor.fit(usable)
    table = pd.DataFrame([seen])
    forecast = predictor.predict(table)
    horizon = run.config.epochs if by is None else by
    tail = (1 - INTERVAL) / 2
    actual = times_of(run.info).t_grok_first
    return RunForecast(
        run=run.id,
        predictor=kind,
        epoch=int(seen["observed"]),
        chance=float(forecast.by(horizon)[0]),
        by=horizon,
        t_grok=float(forecast.quantile(0.5)[0]),
        low=float(forecast.quantile(tail)[0]),
        high=float(forecast.quantile(1 - tail)[0]),
        trust=_trust(kind, usable, float(forecast.far[0]), outside(run.config, pool, set(usable["run"]))),
        actual=actual,
        note=note,
    )


def _trust(kind: str, learned: pd.DataFrame, far: float, unlike: list[str]) -> str:
    """`good: off by a factor of 1.2 on 560 unseen runs`; low where the run is unlike all that were learned from.

    unlike   settings that none of these has
    """
    if unlike:
        return f"low: {in_words(unlike)}"
    tested = out_of_fold(kind, learned)
    grokked = tested["grokked"].to_numpy(bool)
    ratio = np.log(tested["middle"][grokked] / tested["time"][grokked])
    typical = float(np.exp(np.median(np.abs(ratio)))) if len(ratio) else np.inf
    middle = float(tested["time"].median())
    skill = auroc(chance(tested, middle), grokked & (tested["time"] <= middle).to_numpy(bool))
    if far > FAR:
        return f"low: {far:.1f} standard deviations from the runs that it learned from"
    word = "good" if typical <= 1.5 and skill >= 0.8 else "fair" if typical <= 2 and skill >= 0.7 else "low"
    return f"{word}: off by a factor of {typical:.2g} on {len(tested)} unseen runs"
