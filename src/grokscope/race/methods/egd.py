"""Egalitarian gradient descent (Pasand & Dohmatob 2025): all singular directions of a gradient at the same speed."""

from __future__ import annotations

from typing import Any, ClassVar

from ..space import LogUniform, Space
from .base import Control, Method, accelerators


@accelerators.register("egd")
class EGD(Method):
    """Egalitarian gradient descent (Pasand & Dohmatob 2025): SGD on U Vᵀ in place of every matrix's gradient U Σ Vᵀ."""

    title = "EGD"
    settings: ClassVar[dict[str, Any]] = {"optim.kind": "egd"}
    space: ClassVar[Space] = {
        "optim.lr": LogUniform(1e-3, 3.0),
        "optim.weight_decay": LogUniform(1e-6, 1e-2),
        "optim.momentum": LogUniform(0.05, 1.0, complement=True),
    }
    control = Control(
        settings={
            "task.p": 97,
            "task.distractors": 0,
            "task.train_fraction": 0.5,
            "model.kind": "onehot-mlp",
            "model.width": 512,
            "model.layers": 1,
            "model.biases": True,
            "model.kappa": 1.414,
            "optim.kind": "egd",
            "optim.lr": 0.7,
            "optim.weight_decay": 1e-4,
            "optim.warmup": 0.0,
            "optim.clip": 0.0,
            "batch_size": 512,
            "epochs": 1000,
            "log.every": 2,
        },
        reported="“after only a few epochs”, where SGD stagnates for a long period (Figure 1 of arXiv 2510.04930); no number in"
        " the text",
        baseline={"optim.kind": "sgd"},
        differs="The code has p = 79, 97 and 127 and 15,000 epochs, and returns to SGD above 95 % test accuracy; here p = 97 "
        "and 1,000 epochs, and the transformed gradient throughout.",
    )
