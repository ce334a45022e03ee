"""Track E: the network and task of Power et al. (2022) and Grokfast (2024)."""

from __future__ import annotations

from typing import Any, ClassVar

from ...models.parts.mlp.gelu import GELU
from ...models.transformer import Transformer
from ...tasks.modular import Modular
from .base import Track, tracks


@tracks.register("E")
class Multiplication(Track):
    """x·y mod 97 with the tokens x, ∘, y and =, fraction 0.5, batches of 512; two layers, four heads, d = 128, GELU 512."""

    title = "two layers, x·y mod 97"
    task = Modular(p=97, op="*", distractors=1, alphabet=1, positions=(0, 2), train_fraction=0.5)
    model = Transformer(d=128, d_mlp=512, heads=4, layers=2, scope="causal", norm="both", mlp=GELU())
    batch_size = 512
    horizon = 400
    every = 4
    quick: ClassVar[dict[str, Any]] = {
        "task.p": 29,
        "task.train_fraction": 0.85,
        "model.d": 32,
        "model.d_mlp": 64,
        "batch_size": 128,
        "log.every": 2,
        "epochs": 16,
    }
