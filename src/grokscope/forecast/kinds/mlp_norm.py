"""The norm of the MLP: the further it has to fall, the longer the wait (Eq. 5)."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("mlp-norm")
class MLPNorm(Predictor):
    """The norm of the MLP: the further it has to fall, the longer the wait (Eq. 5)."""

    columns: ClassVar[tuple[str, ...]] = ("mlp_norm",)
