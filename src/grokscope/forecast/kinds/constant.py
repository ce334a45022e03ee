"""No feature: the times of the other runs alone. What every other predictor has to beat."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("constant")
class Constant(Predictor):
    """No feature: the times of the other runs alone. What every other predictor has to beat."""

    columns: ClassVar[tuple[str, ...]] = ()
