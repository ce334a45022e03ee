"""Regression of log times with censoring: log t = b + w·x + σ·z with z ~ N(0, 1), fitted by penalised maximum likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr

Values = NDArray[np.float64]
LOG_ROOT = 0.5 * np.log(2 * np.pi)
WIDEST = 3.0
"""Standard deviations."""


class LogNormal(NamedTuple):
    """A fitted regression; features are standardised by `centre` and `scale`."""

    centre: Values
    scale: Values
    weights: Values
    intercept: float
    sigma: float
    """Spread of log t around the fit, widened for the parameters that were fitted."""
    runs: int

    def mean(self, features: Values) -> Values:
        """The median of t, as log t, of each row. Features far outside those that were fitted count as at WIDEST: a straight line
        is not extrapolated."""
        return self.intercept + np.clip((features - self.centre) / self.scale, -WIDEST, WIDEST) @ self.weights

    def distance(self, features: Values) -> Values:
        """The largest distance of a row's features from those that were fitted, in standard deviations."""
        if not self.weights.size:
            return np.zeros(len(features))
        return np.abs((features - self.centre) / self.scale).max(1)


def fit(features: Values, time: Values, grokked: Values, ridge: float = 1.0) -> LogNormal:
    """Maximum likelihood with a penalty of ½·ridge·‖w‖² on the weights of the standardised features.

    features   [run feature]
    time       when a run generalised, or until when it was observed
    grokked    whether it did
    """
    count, width = features.shape
    centre = features.mean(0) if width else np.zeros(0)
    scale = np.maximum(features.std(0), 1e-9) if width else np.ones(0)
    x, y = (features - centre) / scale, np.log(np.maximum(time, 1.0))
    seen = grokked.astype(bool)

    def loss(parameters: Values) -> tuple[float, Values]:
        w, b, log_sigma = parameters[:width], parameters[width], parameters[width + 1]
        sigma = np.exp(log_sigma)
        z = (y - b - x @ w) / sigma
        beyond = log_ndtr(-z)  # log of the probability of a later time
        hazard = np.exp(-0.5 * z**2 - LOG_ROOT - beyond)
        value = np.where(seen, 0.5 * z**2 + log_sigma, -beyond).sum() + 0.5 * ridge * w @ w
        to_mean = -np.where(seen, z, hazard) / sigma
        to_sigma = np.where(seen, 1 - z**2, -hazard * z).sum()
        return float(value), np.concatenate([x.T @ to_mean + ridge * w, [to_mean.sum(), to_sigma]])

    start = np.concatenate([np.zeros(width), [y.mean(), np.log(max(y.std(), 0.1))]])
    bounds = [(None, None)] * (width + 1) + [(-4.0, 3.0)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    wider = np.sqrt(count / max(count - min(width, count - 3) - 2, 1))
    return LogNormal(centre, scale, found[:width], float(found[width]), float(np.exp(found[width + 1]) * wider), count)
