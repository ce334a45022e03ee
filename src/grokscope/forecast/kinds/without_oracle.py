"""The same without what only an experimenter knows: the informative tokens and the test set."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("without-oracle")
class WithoutOracle(Predictor):
    """The same without what only an experimenter knows: the informative tokens and the test set."""

    columns: ClassVar[tuple[str, ...]] = (
        "log_t_mem",
        "entropy",
        "mlp_norm",
        "mlp_norm_slope",
        "fourier_in",
        "fourier_out",
        "sparsity",
        "oscillation",
        "log_train_loss",
    )
