"""The entropy of the spectrum of the hidden representations."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("spectral-entropy")
class SpectralEntropy(Predictor):
    """The entropy of the spectrum of the hidden representations."""

    columns: ClassVar[tuple[str, ...]] = ("spectral_entropy",)
    public: ClassVar[str] = "2604.13123 (spectral entropy of representations)"
