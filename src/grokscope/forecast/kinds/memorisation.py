"""How long the run took to memorise."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("memorisation")
class Memorisation(Predictor):
    """How long the run took to memorise."""

    columns: ClassVar[tuple[str, ...]] = ("log_t_mem",)
