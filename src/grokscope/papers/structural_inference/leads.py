"""Which of two curves comes first, without a threshold: lead and lag of D and the test loss between memorising and grokking.

The falls of both curves between neighbouring points of an even grid from t_mem to t_grok are correlated at every circular shift
of one against the other; the shift at which they agree best is the lag. If the curves had nothing to do with each other in
time, every shift would be as likely (the time-shift null): a run is *locked* if its lag is at most a quarter of the wait, which
half of the runs would be by chance. The sign of a lag depends on the scale of D, in nats or in logarithms: a claim asks for
both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from ...analysis.pairs import hodges_lehmann, sign_flip, signed_ranks
from ...analysis.shares import p_share_above
from ...experiments import power
from ...experiments.base import Case, Effect
from ...experiments.clauses import say_share
from ...experiments.clocks import NotRunError
from ...experiments.columns import column, values
from ...experiments.settle import Rule
from .columns import per_run

if TYPE_CHECKING:
    from ...store.results import Results

Values = np.ndarray
POINTS = 256
NEAR = 0.25
"""Largest lag of a locked run, as a fraction of the wait."""
FEWEST = 6
"""Locked runs below which nothing is told."""


def best_lag(first: Values, second: Values) -> float:
    """The circular shift of `second` against `first` at which their falls agree best, as a fraction of their length, between −½
    and ½; above 0 where `second` falls later. NaN where one of them does not change."""
    one, two = (-np.diff(series) for series in (first, second))
    one, two = one - one.mean(), two - two.mean()
    if not (np.abs(one).max() > 0 and np.abs(two).max() > 0):
        return np.nan
    agreement = np.fft.ifft(np.fft.fft(two) * np.conj(np.fft.fft(one))).real
    shift = int(agreement.argmax())
    return (shift if shift <= len(one) // 2 else shift - len(one)) / len(one)


def _lag(results: Results, log: bool) -> pd.Series:
    def of(row: pd.Series, curve: pd.DataFrame) -> float:
        start, end = row["t_mem"], row["t_grok"]
        if pd.isna(start) or pd.isna(end) or end <= start:
            return np.nan
        grid, epoch = np.linspace(start, end, POINTS), curve["epoch"].to_numpy(float)
        divergence = np.interp(grid, epoch, curve["D"].to_numpy(float))
        loss = np.interp(grid, epoch, curve["test_loss"].to_numpy(float))
        return best_lag(np.log(np.maximum(divergence, 1e-12)) if log else divergence, loss)

    return per_run(results, of)


@column("lag behind D")
def lag(results: Results) -> pd.Series:
    """Lag of the test loss behind D in nats, as a fraction of t_grok − t_mem."""
    return _lag(results, log=False)


@column("lag behind log D")
def lag_log(results: Results) -> pd.Series:
    """The same behind log D."""
    return _lag(results, log=True)


@dataclass(frozen=True)
class Leads(Rule):
    """D falls before the test loss does in `arm`: lags of the locked runs lie above 0 (signed ranks, sign-flip permutation).
    Disagrees if they lie below. Cannot be told unless more than half of the runs are locked (exact binomial test, the
    time-shift null)."""

    arm: str
    scale: Literal["nats", "log"] = "nats"

    def cases(self, results: Results) -> list[Case]:
        name = "lag behind D" if self.scale == "nats" else "lag behind log D"
        own = results.runs["arm"] == self.arm
        if not own.any():
            raise NotRunError(self.arm)
        lags = values(results, name)[own].dropna().to_numpy()
        locked = lags[np.abs(lags) <= NEAR]
        p_locked = p_share_above(len(locked), len(lags), 2 * NEAR)
        few = len(locked) < FEWEST
        loose = p_locked >= 0.025
        middle = Effect("lag of the test loss, as a fraction of the wait", *hodges_lehmann(locked))
        blocked = f"{len(locked)} locked runs are fewer than {FEWEST}" if few else ""
        blocked = blocked or (f"not locked in time (time-shift null, p = {p_locked:.2g})" if loose else "")
        found = Case(
            p_for=float(sign_flip(signed_ranks(locked))) if len(locked) else 1.0,
            p_against=float(sign_flip(signed_ranks(-locked))) if len(locked) else 1.0,
            effects=(middle,),
            measured=f"locked in time: {say_share(len(locked), len(lags))}, p = {p_locked:.2g}",
            test="circular cross-correlation of falls, time-shift null, signed ranks of lags",
            seeds=len(locked),
            blocked=blocked,
            simulated=power.of_difference(len(locked)) if len(locked) else None,
        )
        return [found]
