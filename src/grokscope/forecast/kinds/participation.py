"""The participation ratio of the hidden representations."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("participation")
class Participation(Predictor):
    """The participation ratio of the hidden representations."""

    columns: ClassVar[tuple[str, ...]] = ("participation",)
