"""Grokfast-MA (Lee et al. 2024): the mean of the last gradients is added to the gradient."""

from __future__ import annotations

from typing import Any, ClassVar

from ..space import LogUniform, Space
from .base import ADAMW, Control, Method, accelerators

RECIPE: dict[str, Any] = {
    "task.p": 97,
    "task.op": "*",
    "task.distractors": 1,
    "task.alphabet": 1,
    "task.positions": [0, 2],
    "task.train_fraction": 0.5,
    "model.d": 128,
    "model.d_mlp": 512,
    "model.heads": 4,
    "model.layers": 2,
    "model.scope": "causal",
    "model.norm": "both",
    "model.mlp": "gelu",
    "optim.kind": "adam",
    "optim.lr": 1e-3,
    "optim.beta2": 0.98,
    "optim.warmup": 1.0,
    "optim.clip": 0.0,
    "batch_size": 512,
    "epochs": 400,
    "log.every": 2,
}
"""x·y mod 97 of ironjr/grokfast: tokens x, ∘, y and =, two layers, batches of 512; Adam with L2."""

DIFFERS = (
    "Here a norm has no gain, there is none before the unembedding, the first norm does not replace the residual stream, y = 0 is "
    "among the pairs, and an epoch has 9 steps instead of 10."
)


@accelerators.register("grokfast-ma")
class GrokfastMA(Method):
    """Grokfast-MA (Lee et al. 2024): AdamW on g + λ · mean of the last 100 gradients."""

    title = "Grokfast-MA"
    settings: ClassVar[dict[str, Any]] = {"filter.kind": "grokfast-ma", "filter.window": 100}
    space: ClassVar[Space] = {**ADAMW, "filter.lamb": LogUniform(0.5, 20.0)}
    control = Control(
        settings={**RECIPE, "optim.weight_decay": 0.01, "filter.kind": "grokfast-ma", "filter.lamb": 5.0},
        steps=790,
        reported="790 iterations to 95 % (README of ironjr/grokfast, one seed); its baseline without decay takes 39,890",
        differs=DIFFERS,
    )
