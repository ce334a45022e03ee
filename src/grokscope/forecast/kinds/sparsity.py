"""log of ‖θ‖₁/‖θ‖₂: how evenly the weights are spread."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("sparsity")
class Sparsity(Predictor):
    """log of ‖θ‖₁/‖θ‖₂: how evenly the weights are spread."""

    columns: ClassVar[tuple[str, ...]] = ("sparsity",)
