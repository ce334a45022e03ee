"""Frozen uniform attention: perhaps attention need not be learned at all on short sequences (a critic of structural inference)."""

from __future__ import annotations

from typing import Any, ClassVar

from .base import Method, accelerators


@accelerators.register("uniform")
class Uniform(Method):
    """AdamW with the attention of the last layer frozen at uniform weights: a control that is told nothing."""

    title = "uniform attention"
    settings: ClassVar[dict[str, Any]] = {"constraint.attention": "uniform"}
    uncontrolled = "It is a control, and has no published number."
