"""Stochastic gradient descent with momentum and L2: a public critic holds that tuned SGD has no plateau."""

from __future__ import annotations

from typing import Any, ClassVar

from ..space import LogUniform, Space
from .base import Method, accelerators


@accelerators.register("sgd")
class SGD(Method):
    """SGD with momentum and L2."""

    title = "SGD"
    settings: ClassVar[dict[str, Any]] = {"optim.kind": "sgd"}
    space: ClassVar[Space] = {
        "optim.lr": LogUniform(1e-2, 10.0),
        "optim.weight_decay": LogUniform(1e-6, 1e-2),
        "optim.momentum": LogUniform(0.02, 1.0, complement=True),
    }
    uncontrolled = (
        "The critic (swfsql/burn-mamba) gives no number for SGD, and trains Mamba-2, which this package does not have."
    )
