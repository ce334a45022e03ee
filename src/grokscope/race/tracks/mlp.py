"""Track A: an MLP without attention, the network of Prieto et al. (2025) and of Chou's tuned AdamW (2025)."""

from __future__ import annotations

from typing import Any, ClassVar

from ...models.onehot_mlp import OneHotMLP
from ...tasks.modular import Modular
from .base import Track, tracks


@tracks.register("A")
class MLP(Track):
    """Addition mod 113, fraction 0.4, full batch; one-hot MLP with two hidden layers of 200 units."""

    title = "MLP, addition mod 113"
    task = Modular(p=113, distractors=0, train_fraction=0.4)
    model = OneHotMLP(kappa=0.577)
    horizon = 2000
    every = 5
    quick: ClassVar[dict[str, Any]] = {
        "task.p": 29,
        "task.train_fraction": 0.85,
        "model.width": 64,
        "log.every": 10,
        "epochs": 120,
    }
