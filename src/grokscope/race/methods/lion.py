"""Lion (Chen et al. 2023): the sign of a blend of gradients."""

from __future__ import annotations

from typing import Any, ClassVar

from ..space import LogUniform, Space
from .base import Method, accelerators


@accelerators.register("lion")
class Lion(Method):
    """Lion (Chen et al. 2023), around its authors' advice: a learning rate 3 to 10 times smaller than AdamW's, a decay larger."""

    title = "Lion"
    settings: ClassVar[dict[str, Any]] = {"optim.kind": "lion"}
    space: ClassVar[Space] = {"optim.lr": LogUniform(1e-5, 1e-2), "optim.weight_decay": LogUniform(0.1, 100.0)}
    uncontrolled = "Its authors report nothing about grokking."
