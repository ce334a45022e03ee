"""AdamW (Loshchilov & Hutter 2019): Adam with decoupled weight decay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ..settings import require
from .base import Optimizer, State, optimizers

if TYPE_CHECKING:
    from torch import Tensor

    from ..models.base import Role
    from ..randomness import Key


@optimizers.register("adamw")
@dataclass(frozen=True, kw_only=True)
class AdamW(Optimizer):
    """W⁺ = (1 − η·wd) W − η m̂ / (√v̂ + ε)"""

    beta1: float = 0.9
    """Decay of the mean of gradients."""
    beta2: float = 0.999
    """Decay of the mean of squared gradients."""
    eps: float = 1e-8
    """ε, added to the root of the second moment."""

    LANES: ClassVar[tuple[str, ...]] = (*Optimizer.LANES, "beta1", "beta2", "eps")

    def check(self) -> None:
        super().check()
        require(0 <= self.beta1 < 1, "beta1", f"{self.beta1} is outside [0, 1)")
        require(0 <= self.beta2 < 1, "beta2", f"{self.beta2} is outside [0, 1)")
        require(self.eps > 0, "eps", f"{self.eps} is not above 0; a weight without gradient would become 0/0")

    def init(self, weight: Tensor, role: Role) -> State:
        return {"mean": torch.zeros_like(weight), "square": torch.zeros_like(weight)}

    def update(
        self, weight: Tensor, grad: Tensor, state: State, *, role: Role, step: Tensor, lr: Tensor, key: Key
    ) -> tuple[Tensor, State]:
        step = step.to(weight.dtype)  # a whole number would pull β^step down to float32
        mean = self.beta1 * state["mean"] + (1 - self.beta1) * grad
        square = self.beta2 * state["square"] + (1 - self.beta2) * grad * grad
        unbiased = torch.sqrt(square / (1 - self.beta2**step)) + self.eps
        weight = (1 - lr * self.weight_decay) * weight - (lr / (1 - self.beta1**step)) * mean / unbiased
        return weight, {"mean": mean, "square": square}
