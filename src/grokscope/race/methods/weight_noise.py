"""Noise on the weights: a public critic's way past the plateau."""

from __future__ import annotations

from typing import Any, ClassVar

from ..space import LogUniform, Space
from .base import ADAMW, Method, accelerators


@accelerators.register("weight-noise")
class WeightNoise(Method):
    """AdamW, and Gaussian noise that is added to every weight after every step (a public critic, swfsql/burn-mamba)."""

    title = "weight noise"
    settings: ClassVar[dict[str, Any]] = {"do.kind": "weight-noise"}
    space: ClassVar[Space] = {**ADAMW, "do.strength": LogUniform(1e-4, 3e-2)}
    uncontrolled = (
        "The critic's number, 99.9 % at 2,000 steps where decay alone has 3.7 %, is of one seed of Mamba-2, which this package "
        "does not have."
    )
