"""The Fourier entropy of what the neurons read and write."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("fourier")
class Fourier(Predictor):
    """The Fourier entropy of what the neurons read and write."""

    columns: ClassVar[tuple[str, ...]] = ("fourier_in", "fourier_out")
