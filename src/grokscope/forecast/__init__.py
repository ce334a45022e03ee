"""Forecasts: from what is known on the plateau, whether and when a run will generalise. Predictors are one file each."""

from .base import Forecast, Predictor, predictors

__all__ = ["Forecast", "Predictor", "predictors"]
