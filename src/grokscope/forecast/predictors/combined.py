"""All features that training logs, by a ridge regression."""

from __future__ import annotations

from typing import ClassVar

from ..base import Predictor, predictors


@predictors.register("combined")
class Combined(Predictor):
    """All features that training logs, by a ridge regression."""

    columns: ClassVar[tuple[str, ...]] = (
        "log_t_mem",
        "log_D",
        "entropy",
        "mlp_norm",
        "mlp_norm_slope",
        "fourier_in",
        "fourier_out",
        "sparsity",
        "oscillation",
        "log_train_loss",
        "log_test_loss",
        "log_grad_M",
    )
