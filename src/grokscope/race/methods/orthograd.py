"""OrthoGrad, ⊥Grad (Prieto et al. 2025): the part of the gradient along the weights is removed."""

from __future__ import annotations

from typing import Any, ClassVar

from ..space import LogUniform, Space
from .base import LR, Control, Method, accelerators

RECIPE: dict[str, Any] = {
    "task.p": 113,
    "task.distractors": 0,
    "task.train_fraction": 0.4,
    "model.kind": "onehot-mlp",
    "model.width": 200,
    "model.layers": 2,
    "model.kappa": 0.577,
    "optim.lr": 1e-2,
    "optim.weight_decay": 0.0,
    "optim.eps": 1e-25,
    "optim.warmup": 0.0,
    "optim.clip": 0.0,
}
"""Addition mod 113 of LucasPrietoAl/grokking-at-the-edge-of-numerical-stability: one-hot MLP of two layers, full batch, AdamW."""


@accelerators.register("orthograd")
class OrthoGrad(Method):
    """OrthoGrad (Prieto et al. 2025): AdamW on the part of the gradient that does not merely rescale the weights."""

    title = "OrthoGrad"
    settings: ClassVar[dict[str, Any]] = {"filter.kind": "orthograd", "optim.eps": 1e-25}
    space: ClassVar[Space] = {"optim.lr": LR, "optim.weight_decay": LogUniform(1e-4, 1.0)}
    control = Control(
        settings={**RECIPE, "filter.kind": "orthograd", "optim.beta2": 0.99, "epochs": 300, "log.every": 5},
        reported="test accuracy rises within the 300 epochs of the script of Figure 1; the number is in the picture alone",
        baseline={"filter.kind": "none"},
        differs="Initial weights are Gaussian with the standard deviation of nn.Linear.",
    )
