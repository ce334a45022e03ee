"""The entropy of attention, which needs no oracle."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("entropy")
class Entropy(Predictor):
    """The entropy of attention, which needs no oracle."""

    columns: ClassVar[tuple[str, ...]] = ("entropy",)
