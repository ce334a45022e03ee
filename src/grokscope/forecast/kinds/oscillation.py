"""How much the training loss oscillates."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("oscillation")
class Oscillation(Predictor):
    """How much the training loss oscillates."""

    columns: ClassVar[tuple[str, ...]] = ("oscillation",)
    public: ClassVar[str] = "2306.13253 (oscillation of the early loss)"
