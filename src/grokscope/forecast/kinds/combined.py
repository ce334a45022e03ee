"""All features that training logs, by a ridge regression."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors
from .without_oracle import WithoutOracle


@predictors.register("combined")
class Combined(Predictor):
    """All features that training logs, by a ridge regression."""

    columns: ClassVar[tuple[str, ...]] = (*WithoutOracle.columns, "log_D", "log_test_loss", "log_grad_M")
