"""How little the gradient steps of two halves of the training set commute."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("commutator")
class Commutator(Predictor):
    """How little the gradient steps of two halves of the training set commute."""

    columns: ClassVar[tuple[str, ...]] = ("commutator",)
    public: ClassVar[str] = "2602.16967 (commutator defect)"
