"""D = KL(α*‖α) on the test inputs: how far attention is from the oracle. It needs to know the informative tokens."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("divergence")
class Divergence(Predictor):
    """D = KL(α*‖α) on the test inputs: how far attention is from the oracle. It needs to know the informative tokens."""

    columns: ClassVar[tuple[str, ...]] = ("log_D",)
