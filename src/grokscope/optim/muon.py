"""Muon (Jordan et al. 2024): matrices move along their orthogonalised momentum, everything else by AdamW.

The update is that of torch.optim.Muon: a running mean of gradients, Nesterov look-ahead, five quintic Newton–Schulz
iterations, decoupled decay by the unadjusted rate. What differs:

- Matrices here act on rows (y = x W, stored input × output), torch's are stored output × input. The update equals torch's
  on the transpose, so the "original" rate grows with √(output / input) as its author meant.
- Newton–Schulz runs in the precision of the weights (float32 as a rule); torch rounds to bfloat16.
- It works on the last two axes, one matrix at a time; leading axes (heads, runs) are never flattened into a matrix.
- Whether a weight is a matrix is decided by its role, not by its number of axes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..settings import require
from .adamw import AdamW
from .base import State, optimizers

if TYPE_CHECKING:
    from torch import Tensor

    from ..models.base import Role
    from ..randomness import Key
    from ..shapes import Float


@optimizers.register("muon")
@dataclass(frozen=True, kw_only=True)
class Muon(AdamW):
    """m⁺ = μ m + (1 − μ) g;  W⁺ = (1 − η·wd) W − η s · NS(μ m⁺ + (1 − μ) g), s set by `adjust_lr`"""

    momentum: float = 0.95
    """μ, decay of the mean of gradients of a matrix."""
    adjust_lr: Literal["original", "match_rms_adamw"] = "original"
    """s: √max(1, output/input), or 0.2 √max(output, input), whose steps are as large as AdamW's (Liu et al. 2025)."""
    adam_lr: float = 1e-3
    """Learning rate of embeddings and biases, which AdamW updates; it follows the same schedule."""

    LANES: ClassVar[tuple[str, ...]] = (*AdamW.LANES, "momentum", "adam_lr")
    elementwise: ClassVar[bool] = False

    def check(self) -> None:
        super().check()
        require(0 <= self.momentum < 1, "momentum", f"{self.momentum} is outside [0, 1)")
        require(self.adam_lr > 0, "adam_lr", f"{self.adam_lr} is not above 0")

    def init(self, weight: Tensor, role: Role) -> State:
        return {"momentum": torch.zeros_like(weight)} if role == "matrix" else super().init(weight, role)

    def update(
        self, weight: Tensor, grad: Tensor, state: State, *, role: Role, step: Tensor, lr: Tensor, key: Key
    ) -> tuple[Tensor, State]:
        if role != "matrix":
            return super().update(weight, grad, state, role=role, step=step, lr=lr * (self.adam_lr / self.lr), key=key)
        momentum = self.momentum * state["momentum"] + (1 - self.momentum) * grad
        direction = newton_schulz(self.momentum * momentum + (1 - self.momentum) * grad)
        weight = (1 - lr * self.weight_decay) * weight - lr * self.scale(weight) * direction
        return weight, {"momentum": momentum}

    def scale(self, weight: Tensor) -> float:
        """s, according to `adjust_lr`, for a weight of this shape."""
        inputs, outputs = weight.shape[-2:]
        if self.adjust_lr == "original":
            return math.sqrt(max(1, outputs / inputs))
        return 0.2 * math.sqrt(max(outputs, inputs))


def newton_schulz(matrix: Float[Tensor, "... row column"], iterations: int = 5) -> Float[Tensor, "... row column"]:
    """Nearly the orthogonal factor U Vᵀ of matrix = U Σ Vᵀ: singular values end near 1, roughly within 0.7 … 1.2.

    X ← 3.4445 X − 4.7750 (X Xᵀ) X + 2.0315 (X Xᵀ)² X, starting from matrix / ‖matrix‖_F
    """
    tall = matrix.shape[-2] > matrix.shape[-1]
    x: Tensor = matrix.transpose(-2, -1) if tall else matrix  # X Xᵀ is smallest with the short side first
    x = x / torch.linalg.vector_norm(x, dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(iterations):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.transpose(-2, -1) if tall else x
