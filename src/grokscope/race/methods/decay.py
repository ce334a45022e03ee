"""A larger weight decay at the usual learning rate: the simplest accelerator, which needs no new rule."""

from __future__ import annotations

from typing import Any, ClassVar

from ..space import LogUniform, Space
from .base import Method, accelerators


@accelerators.register("decay")
class LargerDecay(Method):
    """AdamW at a learning rate of 1e-3 with a larger weight decay."""

    title = "larger decay"
    settings: ClassVar[dict[str, Any]] = {"optim.lr": 1e-3}
    space: ClassVar[Space] = {"optim.weight_decay": LogUniform(1.0, 100.0)}
    uncontrolled = "No published number: that a larger decay shortens the wait is known since Power et al. (2022)."
