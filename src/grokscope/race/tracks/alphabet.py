"""Track C: the default task of this package, in which attention has to find the operands."""

from __future__ import annotations

from typing import Any, ClassVar

from ...models.transformer import Transformer
from ...tasks.modular import Modular
from .base import Track, tracks

QUICK: dict[str, Any] = {
    "task.p": 29,
    "task.train_fraction": 0.85,
    "model.d": 32,
    "model.d_mlp": 64,
    "log.every": 10,
    "epochs": 120,
}


@tracks.register("C")
class Alphabet(Track):
    """Addition mod 113 among two distractors from 16 symbols, fraction 0.3, full batch; one layer, one head, d = 64, MLP 256."""

    title = "16 distractor symbols"
    task = Modular(alphabet=16)
    model = Transformer()
    horizon = 8000
    quick: ClassVar[dict[str, Any]] = {**QUICK, "task.alphabet": 4}
