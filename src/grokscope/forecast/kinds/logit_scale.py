"""The scale of the logits on the training set."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("logit-scale")
class LogitScale(Predictor):
    """The scale of the logits on the training set."""

    columns: ClassVar[tuple[str, ...]] = ("logit_scale",)
