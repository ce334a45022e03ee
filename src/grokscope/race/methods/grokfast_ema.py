"""Grokfast (Lee et al. 2024): a running mean of the gradients is added to the gradient."""

from __future__ import annotations

from typing import Any, ClassVar

from ..space import LogUniform, Space
from .base import ADAMW, Control, Method, accelerators
from .grokfast_ma import DIFFERS, RECIPE


@accelerators.register("grokfast-ema")
class GrokfastEMA(Method):
    """Grokfast-EMA (Lee et al. 2024): AdamW on g + λ · running mean of gradients."""

    title = "Grokfast-EMA"
    settings: ClassVar[dict[str, Any]] = {"filter.kind": "grokfast-ema"}
    space: ClassVar[Space] = {
        **ADAMW,
        "filter.lamb": LogUniform(0.5, 20.0),
        "filter.alpha": LogUniform(0.005, 0.2, complement=True),
    }
    control = Control(
        settings={
            **RECIPE,
            "optim.weight_decay": 0.005,
            "filter.kind": "grokfast-ema",
            "filter.alpha": 0.98,
            "filter.lamb": 2.0,
        },
        steps=910,
        reported="910 iterations to 95 % (README of ironjr/grokfast, one seed); its baseline without decay takes 39,890",
        differs=DIFFERS,
    )
