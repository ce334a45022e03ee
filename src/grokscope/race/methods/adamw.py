"""AdamW (Loshchilov & Hutter 2019), tuned: what every accelerator has to be faster than."""

from __future__ import annotations

from .base import Method, accelerators


@accelerators.register("adamw")
class AdamW(Method):
    """AdamW with its learning rate and weight decay tuned (Loshchilov & Hutter 2019)."""

    title = "AdamW"
    uncontrolled = (
        "The published number, 100 % at epoch 111 (Chou 2025: two hidden layers, p = 113, fraction 0.4, full batch), is the "
        "best of a grid of learning rates and decays: track A is its control."
    )
