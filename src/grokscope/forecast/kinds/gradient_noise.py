"""The variance of the gradient between halves of the training set, relative to its square."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("gradient-noise")
class GradientNoise(Predictor):
    """The variance of the gradient between halves of the training set, relative to its square."""

    columns: ClassVar[tuple[str, ...]] = ("gradient_noise",)
