"""Muon (Jordan et al. 2024), which Tveit et al. (2025) report to accelerate grokking."""

from __future__ import annotations

from typing import Any, ClassVar

from ..space import LogUniform, Space
from .base import Control, Method, accelerators


@accelerators.register("muon")
class Muon(Method):
    """Muon (Jordan et al. 2024; Tveit et al. 2025): orthogonalised momentum for matrices, AdamW for the rest."""

    title = "Muon"
    settings: ClassVar[dict[str, Any]] = {"optim.kind": "muon"}
    space: ClassVar[Space] = {
        "optim.lr": LogUniform(3e-4, 1e-1),
        "optim.weight_decay": LogUniform(1e-2, 10.0),
        "optim.adam_lr": LogUniform(3e-4, 1e-2),
    }
    control = Control(
        settings={
            "task.p": 97,
            "task.distractors": 0,
            "task.train_fraction": 0.4,
            "model.d": 128,
            "model.d_mlp": 512,
            "model.heads": 4,
            "model.scope": "causal",
            "optim.kind": "muon",
            "optim.lr": 0.03,
            "optim.weight_decay": 0.1,
            "optim.adam_lr": 1e-3,
            "optim.beta2": 0.98,
            "optim.clip": 0.0,
            "epochs": 6000,
            "log.every": 10,
        },
        steps=1750,
        reported="1,750 steps to 95 % (arXiv 2607.20512: p = 97, fraction 0.4, one layer, four heads, 8 seeds; AdamW 2,388); Tveit "
        "et al.: mean epoch 102.9 instead of 153.1, over all their tasks and softmaxes together",
        differs="Learning rates and decay of the matrices are those of Na00s/muon-grokking; there embeddings decay by 1.0, here by "
        "0.1 like the matrices.",
    )
