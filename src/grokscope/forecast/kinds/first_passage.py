"""First passage of the MLP's norm: extrapolate its fall to the norm at which other runs generalised (after arXiv 2605.18845)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..base import Predictor, Values, predictors

if TYPE_CHECKING:
    import pandas as pd

SLOWEST = 0.02
"""Smallest slope of log norm in log epoch that is extrapolated: a norm that does not fall has no first passage."""


@predictors.register("first-passage")
class FirstPassage(Predictor):
    """The epoch at which the MLP's norm, falling as a power of the epoch as it does now, reaches that of runs that generalised."""

    columns: ClassVar[tuple[str, ...]] = ("mlp_norm", "mlp_norm_slope")
    public: ClassVar[str] = "2605.18845: mean error 17.7 %"

    def __init__(self) -> None:
        super().__init__()
        self.target = np.nan

    def fit(self, table: pd.DataFrame) -> None:
        norms = table.loc[table["grokked"], "log_norm_grok"] if "log_norm_grok" in table else table["mlp_norm"]
        self.target = float(norms.median()) if norms.notna().any() else float(table["mlp_norm"].min())
        super().fit(table)

    def features(self, table: pd.DataFrame) -> Values:
        known = super().features(table)
        if np.isnan(self.target):
            return known
        norm, slope = known.T
        to_go = np.maximum(norm - self.target, 0.0) / np.maximum(-slope, SLOWEST)
        passage = np.log(np.maximum(table["observed"].to_numpy(float), 1.0)) + np.minimum(to_go, 10.0)
        return passage[:, None]
