"""Track B: the one-layer transformer of the field (Nanda et al. 2023), without distractors."""

from __future__ import annotations

from typing import Any, ClassVar

from ...models.transformer import Transformer
from ...tasks.modular import Modular
from .base import Track, tracks


@tracks.register("B")
class OneLayer(Track):
    """Addition mod 113, fraction 0.4, full batch; one layer, four heads, d = 128, MLP 512."""

    title = "transformer, addition mod 113"
    task = Modular(p=113, distractors=0, train_fraction=0.4)
    model = Transformer(d=128, d_mlp=512, heads=4, scope="causal")
    horizon = 4000
    every = 10
    quick: ClassVar[dict[str, Any]] = {
        "task.p": 29,
        "task.train_fraction": 0.85,
        "model.d": 32,
        "model.d_mlp": 64,
        "log.every": 10,
        "epochs": 120,
    }
