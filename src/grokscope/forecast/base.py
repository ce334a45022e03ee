"""Base class of predictors, and what a forecast says."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ..registry import Registry
from . import lognormal

if TYPE_CHECKING:
    import pandas as pd

predictors: Registry[type[Predictor]] = Registry("predictor", "grokscope.forecast.kinds")

Values = NDArray[np.float64]
RIDGES = (0.1, 1.0, 10.0, 100.0)
"""Penalties that the inner cross-validation chooses from."""
LATEST = 1.645
"""Standard deviations after the median at which a run may still be waiting: 95 % of the runs would have generalised."""
INTERVAL = 0.8
"""Probability of the interval of a forecast."""


class Forecast(NamedTuple):
    """The distribution of t_grok of several runs, given that they have not generalised at the epoch of observation."""

    mean: Values
    """Median of t_grok, as log t."""
    sigma: Values | float
    """Spread of log t."""
    epoch: Values
    """Epoch of observation."""
    far: Values
    """How far the features lie outside those of the runs that were learned from, in standard deviations."""

    @property
    def _location(self) -> Values:
        """The median, moved up where a run should have generalised long ago: that it has not is evidence too."""
        return np.maximum(self.mean, self._log_epoch - LATEST * np.asarray(self.sigma))

    @property
    def _log_epoch(self) -> Values:
        return np.log(np.maximum(self.epoch, 1.0))

    def by(self, epoch: float) -> Values:
        """Probability of generalising by an epoch."""
        then = (np.log(max(epoch, 1.0)) - self._location) / self.sigma
        now = ndtr((self._log_epoch - self._location) / self.sigma)
        return np.clip((ndtr(then) - now) / (1 - now), 0.0, 1.0)

    def quantile(self, share: float) -> Values:
        """The epoch by which it generalises with this probability."""
        now = ndtr((self._log_epoch - self._location) / self.sigma)
        return np.maximum(np.exp(self._location + self.sigma * ndtri(now + share * (1 - now))), self.epoch)


class Predictor:
    """A forecast from some features: by default a regression of log t_grok on them, with the penalty chosen by inner
    cross-validation where there are several."""

    kind: ClassVar[str] = ""
    columns: ClassVar[tuple[str, ...]] = ()
    """Names of its features."""
    public: ClassVar[str] = ""
    """The figure that others report for it, with its source."""

    def __init__(self) -> None:
        self.model: lognormal.LogNormal | None = None

    def features(self, table: pd.DataFrame) -> Values:
        """[run feature]; NaN where one is not known."""
        return table.reindex(columns=list(self.columns)).to_numpy(float)

    def usable(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows have all features."""
        return np.asarray(np.isfinite(self.features(table)).all(1))

    def fit(self, table: pd.DataFrame) -> None:
        """Learn from runs: columns of the features, `time`, `grokked` and `fold`."""
        x, time, grokked = self.features(table), table["time"].to_numpy(float), table["grokked"].to_numpy(bool)
        ridge = self._penalty(x, time, grokked, table["fold"].to_numpy()) if x.shape[1] > 1 else RIDGES[0]
        self.model = lognormal.fit(x, time, grokked, ridge)

    def predict(self, table: pd.DataFrame) -> Forecast:
        assert self.model is not None, "a predictor is fitted before it predicts"
        x = self.features(table)
        return Forecast(self.model.mean(x), self.model.sigma, table["observed"].to_numpy(float), self.model.distance(x))

    @staticmethod
    def _penalty(x: Values, time: Values, grokked: NDArray[np.bool_], folds: Values) -> float:
        """The penalty with the smallest error of log t in runs that generalised, over the folds of the training runs."""
        errors = []
        for ridge in RIDGES:
            missed = []
            for fold in np.unique(folds):
                mine, rest = folds == fold, folds != fold
                if rest.sum() < 5:
                    continue
                model = lognormal.fit(x[rest], time[rest], grokked[rest], ridge)
                known = mine & grokked
                missed.append(np.abs(model.mean(x[known]) - np.log(time[known])))
            errors.append(np.concatenate(missed).mean() if missed and sum(map(len, missed)) else np.inf)
        return RIDGES[int(np.argmin(errors))]
