"""The distance between classes over that within them, of the hidden representations."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("class-distance")
class ClassDistance(Predictor):
    """The distance between classes over that within them, of the hidden representations."""

    columns: ClassVar[tuple[str, ...]] = ("class_distance",)
    public: ClassVar[str] = "2604.20923: leads by 950 ± 250 steps"
