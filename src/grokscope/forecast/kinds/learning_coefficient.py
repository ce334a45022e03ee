"""The local learning coefficient at the checkpoint, by SGLD."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("learning-coefficient")
class LearningCoefficient(Predictor):
    """The local learning coefficient at the checkpoint, by SGLD."""

    columns: ClassVar[tuple[str, ...]] = ("llc",)
