"""StableMax (Prieto et al. 2025): a softmax whose terms grow linearly, so that nothing is absorbed."""

from __future__ import annotations

from typing import Any, ClassVar

from ..space import LogUniform, Space
from .base import LR, Control, Method, accelerators
from .orthograd import RECIPE


@accelerators.register("stablemax")
class StableMax(Method):
    """StableMax (Prieto et al. 2025): AdamW on the cross-entropy of a softmax that does not saturate."""

    title = "StableMax"
    settings: ClassVar[dict[str, Any]] = {"loss": "stablemax"}
    space: ClassVar[Space] = {"optim.lr": LR, "optim.weight_decay": LogUniform(1e-4, 10.0)}
    control = Control(
        # the precision is part of the recipe: TF32, the default on a GPU, rounds products to ten bits
        settings={
            **RECIPE,
            "loss": "stablemax",
            "optim.beta2": 0.999,
            "precision": "float32",
            "epochs": 80_000,
            "log.every": 200,
        },
        reported="generalises without decay within the 80,000 epochs of the script of Figure 1, where softmax does not; the number "
        "is in the picture alone",
        baseline={"loss": "cross_entropy"},
        differs="The loss is computed in float32, in a form that keeps its digits, instead of float64. The authors' baseline has "
        "its softmax in float64 and β₂ = 0.99; here it has float32 and the β₂ of StableMax, 0.999. Initial weights are Gaussian "
        "with the standard deviation of nn.Linear.",
    )
